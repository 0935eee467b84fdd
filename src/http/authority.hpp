// Is this the authority that `Host` and absolute-form targets may name (RFC 9112 §3.2, RFC 3986
// §3.2.2)? Private to the layer.
#pragma once

#include <string_view>

namespace latchkey::http {

// host [ ":" port ] with a host that is not empty: http and https require one (RFC 9110 §4.2.1).
// User information is refused (RFC 9110 §4.2.4), and so is IPvFuture, of which there is none.
bool is_authority(std::string_view text);

}  // namespace latchkey::http
