// Serialises a response as HTTP/1.1 (RFC 9112 §4, §6): status line, Date, Content-Type,
// Content-Length, the response's own field lines, content. Content that does not end is no part of
// the response: it follows in chunks or, to a client of HTTP/1.0, until the connection closes.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "wire/http/request.hpp"
#include "wire/http/response.hpp"

namespace latchkey::http {

// The `Date` line of the current second, rebuilt when the second changes. One per worker.
class date_line {
  public:
    std::string_view at(base::wall_ms now);  // "Date: …\r\n"

  private:
    std::int64_t second_ = -1;
    char text_[48];
    std::size_t size_ = 0;
};

struct write_options {
    bool head = false;   // a HEAD request: Content-Length as for GET, no content
    bool close = false;  // add `Connection: close`
    bool keep_alive_1_0 =
        false;             // for a 1.0 client that requested it: add `Connection: keep-alive`
    bool chunked = false;  // content that does not end follows in chunks
};

// Appends to `output`; allocates only when `output` must grow. 1xx, 204 and 304 get neither
// content nor Content-Length (RFC 9110 §8.6, RFC 9112 §6.3).
void write(response const& answer, write_options options, std::string_view date,
           std::string& output);

// Appends one chunk (RFC 9112 §7.1) with that content, which is not empty.
void write_chunk(std::string_view content, std::string& output);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

inline constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

// The reason phrase of a status; "Unknown" for one that is not in the table.
std::string_view reason_of(std::uint16_t status);

}  // namespace latchkey::http
