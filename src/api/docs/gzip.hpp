// Compression of what is made when the service starts (RFC 1952). Any thread.
#pragma once

#include <string>
#include <string_view>

namespace latchkey::api {

std::string gzip(std::string_view content);

}  // namespace latchkey::api
