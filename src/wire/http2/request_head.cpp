// Fields are sorted as they come: pseudo-headers into four views, of which each is set once, others
// into the request. What cannot be judged before all fields are there is judged at the end.
// `malformed` resets the stream and outweighs a refusal, of which the first is kept.
#include "wire/http2/request_head.hpp"

#include <algorithm>
#include <array>

#include "wire/http/authority.hpp"
#include "wire/http/byte_class.hpp"

namespace latchkey::http2 {
namespace {

using base::problem;
using http::field_name;

// What an HTTP/1.1 request line has beside method and target: two spaces and "HTTP/1.1".
constexpr std::size_t request_line_rest_bytes = 10;
// What a field line has beside name and value: ": " and CRLF.
constexpr std::size_t field_line_rest_bytes = 4;

bool is_token(std::string_view text) {
    return std::ranges::all_of(text,
                               [](char byte) { return http::is(byte, http::byte_class::token); });
}

}  // namespace

bool is_connection_specific(header_field const& field) {
    constexpr std::array<std::string_view, 5> names{"connection", "keep-alive", "proxy-connection",
                                                    "transfer-encoding", "upgrade"};
    for (auto const each : names)
        if (field.name == each) return true;
    return field.name == "te" && field.value != "trailers";
}

request_head::request_head(http::size_limits const& limits, http::request& request,
                           http::framing& framing)
    : limits_(limits), request_(request), framing_(framing) {
    request_.clear();
    framing_ = {};
}

void request_head::add(header_field const& field) {
    if (!field.valid) {
        malformed_ = true;
        return;
    }
    field.name.front() == ':' ? add_pseudo(field) : add_regular(field);
}

// §8.3: before all fields, once each, and none but these.
void request_head::add_pseudo(header_field const& field) {
    bool is_first = false;
    if (field.name == ":method")
        is_first = take_once(method_, field.value);
    else if (field.name == ":scheme")
        is_first = take_once(scheme_, field.value);
    else if (field.name == ":path")
        is_first = take_once(path_, field.value);
    else if (field.name == ":authority")
        is_first = take_once(authority_, field.value);
    if (!is_first || field_seen_) malformed_ = true;
}

// False: it was there before. An empty one is present, as its data is not null.
bool request_head::take_once(std::string_view& place, std::string_view value) {
    if (place.data() != nullptr) return false;
    place = value.data() == nullptr ? std::string_view("") : value;
    return true;
}

void request_head::add_regular(header_field const& field) {
    field_seen_ = true;
    section_bytes_ += field.name.size() + field.value.size() + field_line_rest_bytes;
    switch (field.id) {
        case field_name::host:
            if (host_seen_) return refuse(problem::malformed_request, "Host is repeated.");
            host_seen_ = true;
            host_ = field.value;
            break;
        case field_name::content_length:
            read_length(field.value);
            break;
        case field_name::expect:
            if (http::same_token(field.value, "100-continue"))
                framing_.expect_continue = true;
            else
                framing_.expect_unknown = true;
            break;
        case field_name::connection:
        case field_name::transfer_encoding:
            malformed_ = true;
            return;
        default:
            if (is_connection_specific(field)) {
                malformed_ = true;
                return;
            }
            if (field.name == "priority") urgency_ = parse_priority(field.value);
    }
    if (!request_.add(field.name, field.value, field.id))
        refuse(problem::headers_too_large, "There are too many header fields.");
}

// A length that is no number, or is repeated, makes the request malformed (§8.1.1).
void request_head::read_length(std::string_view value) {
    std::uint64_t length = 0;
    bool fits = !value.empty() && !length_;
    for (char const byte : value)
        fits = fits && http::is_digit(byte) && !__builtin_mul_overflow(length, 10u, &length) &&
               !__builtin_add_overflow(length, static_cast<unsigned>(byte - '0'), &length);
    if (!fits) malformed_ = true;
    length_ = length;
}

void request_head::refuse(base::problem problem, std::string_view detail) {
    if (problem_ != problem::none) return;
    problem_ = problem;
    detail_ = detail;
}

request_head::verdict request_head::finish(bool end_stream, bool too_large) {
    if (malformed_) return verdict::malformed;
    if (too_large || section_bytes_ > limits_.header_bytes_max)
        refuse(problem::headers_too_large, "The header section is too large.");
    request_.method_text = method_;
    bool const tunnel = method_ == "CONNECT";
    if (tunnel) {
        judge_tunnel();
    } else if (!too_large) {
        if (method_.empty() || path_.empty() || scheme_.empty()) return verdict::malformed;
        judge_target();
        judge_authority();
    }
    if (malformed_) return verdict::malformed;
    request_.method = http::method_of(method_);
    if (!is_token(method_)) return verdict::malformed;
    if (method_.size() > base::limits::method_bytes_max)
        refuse(problem::method_not_implemented, "The method is too long.");
    if (end_stream && length_.value_or(0) != 0) return verdict::malformed;
    using body_kind = http::framing::body_kind;
    if (!end_stream) framing_.body = length_ ? body_kind::sized : body_kind::chunked;
    framing_.content_length = length_.value_or(0);
    if (framing_.content_length > limits_.body_bytes_max)
        refuse(problem::body_too_large, "The body is too large.");
    return problem_ == problem::none ? verdict::complete : verdict::refused;
}

// §8.5. This server is no proxy, as over HTTP/1.1.
void request_head::judge_tunnel() {
    if (path_.data() != nullptr || scheme_.data() != nullptr || !http::has_port(authority_)) {
        malformed_ = true;
        return;
    }
    refuse(problem::method_not_allowed,
           "CONNECT asks a proxy for a tunnel, and this server is no proxy.");
}

// §8.3.1: a path, or "*" with OPTIONS.
void request_head::judge_target() {
    auto const* const end = path_.data() + path_.size();
    bool const asterisk = path_ == http::asterisk_path;
    if (asterisk ? method_ != "OPTIONS" : path_.front() != '/') malformed_ = true;
    if (http::skip(path_.data(), end, http::byte_class::uri) != end)
        refuse(problem::malformed_request, "The target holds a byte that is not allowed.");
    if (!http::same_token(scheme_, "http") && !http::same_token(scheme_, "https"))
        refuse(problem::malformed_request, "The scheme is neither http nor https.");
    if (method_.size() + path_.size() + request_line_rest_bytes > limits_.request_line_bytes_max)
        refuse(problem::uri_too_long, "The path is too long.");
    auto const mark = path_.find('?');
    request_.path = asterisk ? http::asterisk_path : path_.substr(0, mark);
    if (mark != path_.npos) request_.query = path_.substr(mark + 1);
}

// :authority decides; Host must say the same (§8.3.1).
void request_head::judge_authority() {
    bool const named = authority_.data() != nullptr;
    if (!named && !host_seen_) {
        malformed_ = true;
        return;
    }
    if ((named && !http::is_authority(authority_)) || (host_seen_ && !http::is_authority(host_)))
        return refuse(problem::malformed_request, "The authority is not valid.");
    if (named && host_seen_ && authority_ != host_)
        return refuse(problem::malformed_request, "Host and :authority differ.");
    request_.authority = named ? authority_ : host_;
}

}  // namespace latchkey::http2
