// Base64 (RFC 4648 §4), with padding. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace latchkey::auth {

std::string base64_of(std::string_view bytes);

}  // namespace latchkey::auth
