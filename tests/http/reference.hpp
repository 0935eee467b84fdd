// A second reading of HTTP/1.1 requests to hold the first against: written from RFC 9112, RFC 9110,
// RFC 3986 and DESIGN §4 alone, it shares no code with src/http. As slow and plain as it likes: it
// sees all bytes at once and goes through the grammar from top to bottom.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::reference {

struct bounds {
    std::size_t request_line_bytes_max = 8192;
    std::size_t header_bytes_max = 16384;
    std::size_t body_bytes_max = 1048576;
};

struct reading {
    // Complete ones, as text: what outcome::messages of wire.hpp has for the same request.
    std::vector<std::string> messages;
    // What follows them is no beginning of a request. False does not promise that it is one: lines
    // are judged when they have ended.
    bool refused = false;
};

reading read_requests(std::string_view bytes, bounds const& limits = {});

// The parts of a message, for fuzzers that look at one of them only.
struct target_parts {
    bool valid = false;
    std::string path;  // "*" where the request is about the server as a whole
    std::string query;
    std::string authority;  // of an absolute form
    bool absolute = false;
};
target_parts read_target(std::string_view method, std::string_view target);

struct chunked_body {
    enum class state { more, complete, refused };
    state state = state::more;
    std::string content;
    std::size_t consumed = 0;  // when complete
};
chunked_body read_chunks(std::string_view bytes, std::size_t body_bytes_max);

bool is_authority(std::string_view text);  // uri-host [ ":" port ], the host not empty

}  // namespace latchkey::reference
