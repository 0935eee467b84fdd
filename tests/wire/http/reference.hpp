// Reference parser of HTTP/1.1 requests for differential tests: written from RFC 9112, RFC 9110,
// RFC 3986 and api.md §1 alone, without code of src/http. Plain and slow: it gets all bytes at once
// and follows the grammar from top to bottom.
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
    // Complete messages as text, in the form of outcome::messages (wire.hpp).
    std::vector<std::string> messages;
    // The bytes after them cannot begin a request. False does not promise the opposite: lines are
    // checked when they are complete.
    bool is_refused = false;
};

reading read_requests(std::string_view bytes, bounds const& limits = {});

// Parts of a message, for fuzzers of one part.
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
