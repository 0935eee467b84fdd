#include "server/net/plain_http.hpp"

#include "wire/http2/frame.hpp"

namespace latchkey::server {
namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n";
constexpr std::size_t method_bytes_max = 16;
constexpr std::string_view sentence =
    "This port speaks HTTPS, and the request came in plain HTTP. Use https:// in its place; an API "
    "key that was sent this way crossed the network in clear text, so rotate it.";

std::string http1_refusal(std::string_view bytes, base::wall_ms now) {
    char date[base::http_date_bytes];
    base::format_http_date(now, date);
    std::string output = "HTTP/1.1 400 Bad Request\r\nDate: ";
    output.append(date, sizeof date)
        .append("\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ")
        .append(std::to_string(sentence.size() + 1))
        .append("\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n")
        .append("Connection: close\r\n\r\n");
    if (!bytes.starts_with("HEAD ")) output.append(sentence).append("\n");
    return output;
}

}  // namespace

first_bytes tell_first_bytes(std::string_view bytes) {
    auto const compared = bytes.substr(0, preface.size());
    if (compared == preface) return first_bytes::http2;
    if (preface.starts_with(compared)) return first_bytes::undecided;
    auto const end = bytes.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (end == bytes.npos)
        return bytes.size() > method_bytes_max ? first_bytes::tls : first_bytes::undecided;
    bool const is_method = bytes[end] == ' ' && end != 0 && end <= method_bytes_max;
    return is_method ? first_bytes::http1 : first_bytes::tls;
}

std::string refuse_plain_http(std::string_view bytes, base::wall_ms now) {
    if (tell_first_bytes(bytes) != first_bytes::http2) return http1_refusal(bytes, now);
    std::string output;
    http2::put_settings({}, output);
    http2::put_goaway(0, http2::error_code::inadequate_security, sentence, output);
    return output;
}

}  // namespace latchkey::server
