// Status lines are whole constants, found by an index of one byte per status. Room for the whole
// response is reserved at once, by an upper bound of its head; the Date line is kept for its
// second.
#include "wire/http/write.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.hpp"
#include "base/text.hpp"

namespace latchkey::http {
namespace {

struct status_entry {
    std::uint16_t status;
    std::string_view line;
};

// RFC 9110 §15, RFC 6585: the complete status lines.
constexpr status_entry entries[] = {
    {100, "HTTP/1.1 100 Continue\r\n"},
    {101, "HTTP/1.1 101 Switching Protocols\r\n"},
    {200, "HTTP/1.1 200 OK\r\n"},
    {201, "HTTP/1.1 201 Created\r\n"},
    {202, "HTTP/1.1 202 Accepted\r\n"},
    {203, "HTTP/1.1 203 Non-Authoritative Information\r\n"},
    {204, "HTTP/1.1 204 No Content\r\n"},
    {205, "HTTP/1.1 205 Reset Content\r\n"},
    {206, "HTTP/1.1 206 Partial Content\r\n"},
    {300, "HTTP/1.1 300 Multiple Choices\r\n"},
    {301, "HTTP/1.1 301 Moved Permanently\r\n"},
    {302, "HTTP/1.1 302 Found\r\n"},
    {303, "HTTP/1.1 303 See Other\r\n"},
    {304, "HTTP/1.1 304 Not Modified\r\n"},
    {307, "HTTP/1.1 307 Temporary Redirect\r\n"},
    {308, "HTTP/1.1 308 Permanent Redirect\r\n"},
    {400, "HTTP/1.1 400 Bad Request\r\n"},
    {401, "HTTP/1.1 401 Unauthorized\r\n"},
    {402, "HTTP/1.1 402 Payment Required\r\n"},
    {403, "HTTP/1.1 403 Forbidden\r\n"},
    {404, "HTTP/1.1 404 Not Found\r\n"},
    {405, "HTTP/1.1 405 Method Not Allowed\r\n"},
    {406, "HTTP/1.1 406 Not Acceptable\r\n"},
    {407, "HTTP/1.1 407 Proxy Authentication Required\r\n"},
    {408, "HTTP/1.1 408 Request Timeout\r\n"},
    {409, "HTTP/1.1 409 Conflict\r\n"},
    {410, "HTTP/1.1 410 Gone\r\n"},
    {411, "HTTP/1.1 411 Length Required\r\n"},
    {412, "HTTP/1.1 412 Precondition Failed\r\n"},
    {413, "HTTP/1.1 413 Content Too Large\r\n"},
    {414, "HTTP/1.1 414 URI Too Long\r\n"},
    {415, "HTTP/1.1 415 Unsupported Media Type\r\n"},
    {416, "HTTP/1.1 416 Range Not Satisfiable\r\n"},
    {417, "HTTP/1.1 417 Expectation Failed\r\n"},
    {421, "HTTP/1.1 421 Misdirected Request\r\n"},
    {422, "HTTP/1.1 422 Unprocessable Content\r\n"},
    {426, "HTTP/1.1 426 Upgrade Required\r\n"},
    {428, "HTTP/1.1 428 Precondition Required\r\n"},
    {429, "HTTP/1.1 429 Too Many Requests\r\n"},
    {431, "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
    {500, "HTTP/1.1 500 Internal Server Error\r\n"},
    {501, "HTTP/1.1 501 Not Implemented\r\n"},
    {502, "HTTP/1.1 502 Bad Gateway\r\n"},
    {503, "HTTP/1.1 503 Service Unavailable\r\n"},
    {504, "HTTP/1.1 504 Gateway Timeout\r\n"},
    {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
    {507, "HTTP/1.1 507 Insufficient Storage\r\n"},
};

constexpr std::size_t prefix_size = std::string_view("HTTP/1.1 200 ").size();

// Index + 1 into `entries` by status.
constexpr auto index_of_status = [] {
    std::array<std::uint8_t, 600> table{};
    for (std::size_t index = 0; index < std::size(entries); ++index)
        table[entries[index].status] = static_cast<std::uint8_t>(index + 1);
    return table;
}();

std::string_view status_line_of(std::uint16_t status) {
    auto const index = status < index_of_status.size() ? index_of_status[status] : 0;
    return index == 0 ? std::string_view() : entries[index - 1].line;
}

constexpr bool may_have_content(std::uint16_t status) {
    return status >= 200 && status != 204 && status != 304;
}

void put_status_line(std::uint16_t status, base::text_writer& head) {
    if (auto const line = status_line_of(status); !line.empty()) {
        head.put(line);
        return;
    }
    // Statuses are constants of the program.
    base::check(status >= 100 && status <= 999, "a status that has not three digits");
    head.put("HTTP/1.1 ").number(status).put(" Unknown\r\n");
}

}  // namespace

std::string_view reason_of(std::uint16_t status) {
    auto const line = status_line_of(status);
    if (line.empty()) return "Unknown";
    return line.substr(prefix_size, line.size() - prefix_size - 2);
}

std::string_view date_line::at(base::wall_ms now) {
    auto const second = now / 1000;
    if (second != second_ || size_ == 0) {
        constexpr std::string_view name = "Date: ";
        static_assert(name.size() + base::http_date_bytes + 2 <= sizeof text_);
        char* end = std::copy(name.begin(), name.end(), text_);
        base::format_http_date(second * 1000, end);
        end += base::http_date_bytes;
        *end++ = '\r';
        *end++ = '\n';
        size_ = static_cast<std::size_t>(end - text_);
        second_ = second;
    }
    return {text_, size_};
}

void write(response const& answer, write_options options, std::string_view date,
           std::string& output) {
    // An upper bound of everything below but date, fields and content.
    constexpr std::size_t rest_bytes_max = 256;
    auto const with_content = may_have_content(answer.status);
    auto const content = with_content && !options.head ? std::string_view(answer.body) : "";
    auto const size_needed =
        output.size() + rest_bytes_max + date.size() + answer.field_lines().size() + content.size();
    // At least doubled, so that a batch of responses is copied O(1) times per byte.
    if (output.capacity() < size_needed)
        output.reserve(std::max(size_needed, 2 * output.capacity()));

    {
        base::string_writer head(output, size_needed - output.size() - content.size());
        put_status_line(answer.status, head);
        head.put(date);
        if (with_content) {
            if (auto const type = media_type_of(answer.content_type); !type.empty())
                head.put("Content-Type: ").put(type).put("\r\n");
            if (answer.is_partial)
                base::check(options.head, "a part of a content that is to be sent");
            else if (answer.content_type != content::event_stream)
                head.put("Content-Length: ").number(answer.body.size()).put("\r\n");
            else if (options.chunked)
                head.put("Transfer-Encoding: chunked\r\n");
        }
        head.put(answer.field_lines());
        if (options.close || answer.close)
            head.put("Connection: close\r\n");
        else if (options.keep_alive_1_0)
            head.put("Connection: keep-alive\r\n");
        head.put("\r\n");
    }
    output.append(content);
}

void write_chunk(std::string_view content, std::string& output) {
    std::array<char, 16> size;
    auto const digits = std::to_chars(size.begin(), size.end(), content.size(), 16);
    output.append(size.data(), digits.ptr).append("\r\n").append(content).append("\r\n");
}

}  // namespace latchkey::http
