// The limits on a request's size that an operator can set (api.md §1). Owned by the worker's
// configuration, which outlives every reference to it.
#pragma once

#include <cstddef>

#include "base/limits.hpp"

namespace latchkey::http {

struct size_limits {
    // Request line without its CRLF; longer: 414.
    std::size_t request_line_bytes_max = base::limits::request_line_bytes_max;
    // From the end of the request line through the empty line; longer: 431.
    std::size_t header_bytes_max = base::limits::header_bytes_max;
    // Content, after chunks were decoded; longer: 413.
    std::size_t body_bytes_max = base::limits::body_bytes_max;
};

}  // namespace latchkey::http
