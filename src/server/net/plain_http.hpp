// Plain HTTP that arrives where TLS is spoken: told from TLS by its first bytes, and answered in
// its own language, as nginx does (api.md §2). No I/O; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace latchkey::server {

enum class first_bytes : std::uint8_t {
    undecided,  // more are needed
    tls,        // or anything else that is not HTTP
    http1,      // a method and a space (RFC 9112 §3)
    http2,      // the connection preface (RFC 9113 §3.4)
};

// What a connection's first bytes begin. A TLS record is decided by its first byte (RFC 8446 §5.1:
// the content type of a handshake is 22, no method begins with that).
first_bytes tell_first_bytes(std::string_view bytes);

// The whole answer to `http1` or `http2`, whose first bytes these are: a 400 and a sentence, or
// SETTINGS and GOAWAY(INADEQUATE_SECURITY) with the sentence. Nothing of the request is repeated.
std::string refuse_plain_http(std::string_view bytes, base::wall_ms now);

}  // namespace latchkey::server
