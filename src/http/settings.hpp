// The bounds of a request that an operator can move (API §1). Owned by the worker's configuration;
// whoever holds a reference to one outlives no worker.
#pragma once

#include <cstddef>

#include "base/limits.hpp"

namespace latchkey::http {

struct settings {
    // Of the request line, its CRLF not counted: beyond it 414.
    std::size_t request_line_bytes_max = base::limits::request_line_bytes_max;
    // From behind the request line up to and with the empty line: beyond it 431.
    std::size_t header_bytes_max = base::limits::header_bytes_max;
    // Of the content, after chunks were decoded: beyond it 413.
    std::size_t body_bytes_max = base::limits::body_bytes_max;
};

}  // namespace latchkey::http
