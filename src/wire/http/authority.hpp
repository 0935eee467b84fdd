// Syntax check of an authority, as in Host and absolute-form targets (RFC 9112 §3.2, RFC 3986
// §3.2.2). Private to http and http2.
#pragma once

#include <string_view>

namespace latchkey::http {

// host [ ":" port ] with a non-empty host, as http and https require (RFC 9110 §4.2.1). Refuses
// user information (RFC 9110 §4.2.4) and IPvFuture, which no address uses.
bool is_authority(std::string_view text);
// The same with a port from 1 to 65535, which the target of CONNECT must have (RFC 9112 §3.2.3).
bool has_port(std::string_view text);

}  // namespace latchkey::http
