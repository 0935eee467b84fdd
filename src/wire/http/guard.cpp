// A head is read in stages, each of which resumes at an offset. Runs of allowed bytes are skipped
// by tables of byte classes; only the fields that decide about framing and host are looked at,
// found by the sizes of their names. What is refused stays refused.
#include "wire/http/guard.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "wire/http/authority.hpp"
#include "wire/http/byte_class.hpp"

namespace latchkey::http {

using base::problem;

namespace {
constexpr std::string_view tunnel_method = "CONNECT";
constexpr std::uint8_t newest_minor = 1;
}  // namespace

bool guard::read_request_line(std::string_view input, size_limits const& limits) {
    while (stage_ < stage::fields)
        if (read_stage(input, limits) != progress::done) return false;
    return stage_ == stage::fields && position_ == section_;
}

guard::verdict guard::advance(std::string_view input, size_limits const& limits) {
    while (stage_ < stage::complete)
        if (read_stage(input, limits) == progress::incomplete) return verdict::more;
    return stage_ == stage::complete ? verdict::complete : verdict::refused;
}

guard::progress guard::read_stage(std::string_view input, size_limits const& limits) {
    switch (stage_) {
        case stage::empty_lines:
            return read_empty_lines(input);
        case stage::method:
            return read_method(input, limits);
        case stage::target:
            return read_target(input, limits);
        case stage::version:
            return read_version(input, limits);
        case stage::fields:
            return read_fields(input, limits);
        case stage::complete:
            return progress::done;
        case stage::refused:
            break;
    }
    return progress::refused;
}

guard::progress guard::refuse(base::problem code, std::string_view detail) {
    stage_ = stage::refused;
    problem_ = code;
    detail_ = detail;
    return progress::refused;
}

// RFC 9112 §2.2: a server should ignore at least one empty line before the request line.
guard::progress guard::read_empty_lines(std::string_view input) {
    while (position_ < input.size() && input[position_] == '\r') {
        if (position_ + 1 == input.size()) return progress::incomplete;
        if (input[position_ + 1] != '\n')
            return refuse(problem::malformed_request,
                          "A carriage return is not followed by a line feed.");
        if (++empty_lines_ > base::limits::empty_lines_before_request_max)
            return refuse(problem::malformed_request, "Too many empty lines before a request.");
        position_ += 2;
    }
    if (position_ == input.size()) return progress::incomplete;
    if (input[position_] == 0x16)
        return refuse(problem::malformed_request,
                      "The bytes are those of a TLS handshake, and this port speaks plain HTTP.");
    facts_.message.offset = facts_.method.offset = position_;
    stage_ = stage::method;
    return progress::done;
}

// RFC 9112 §3: 501 for a method, 414 for a target that is longer than any the server accepts.
guard::progress guard::read_method(std::string_view input, size_limits const& limits) {
    auto const method_end = facts_.message.offset + std::min(limits.request_line_bytes_max,
                                                             base::limits::method_bytes_max + 1);
    auto const end = std::min(input.size(), method_end);
    position_ = static_cast<std::size_t>(
        skip(input.data() + position_, input.data() + end, byte_class::token) - input.data());
    if (position_ == method_end)
        return refuse(problem::method_not_implemented, "The method is too long.");
    if (position_ == end) return progress::incomplete;
    facts_.method.size = position_ - facts_.method.offset;
    if (input[position_] != ' ' || facts_.method.size == 0)
        return refuse(problem::malformed_request, "The request does not begin with a method.");
    element_ = ++position_;
    stage_ = stage::target;
    return progress::done;
}

guard::progress guard::refuse_overlong_line() {
    return refuse(problem::uri_too_long,
                  "The request line is too long. Leave out query parameters, or shorten them.");
}

guard::progress guard::read_target(std::string_view input, size_limits const& limits) {
    auto const line_end = facts_.message.offset + limits.request_line_bytes_max;
    auto const end = std::min(input.size(), line_end);
    if (position_ < end && position_ == element_ && facts_.method.view(input) != tunnel_method) {
        char const first = input[position_];
        if (first != '/' && first != '*' && (first | 0x20) != 'h')
            return refuse(problem::malformed_request,
                          "The target is neither a path nor an http or https URI.");
    }
    if (position_ < end)
        position_ = static_cast<std::size_t>(
            skip(input.data() + position_, input.data() + end, byte_class::uri) - input.data());
    if (position_ >= end)
        return position_ == input.size() ? progress::incomplete : refuse_overlong_line();
    if (input[position_] != ' ')
        return refuse(problem::malformed_request,
                      "The target holds a byte that is not allowed, or no version follows it.");
    facts_.target = {element_, position_ - element_};
    element_ = ++position_;
    stage_ = stage::version;
    return split_target(input);
}

// Path and query of the forms that RFC 9112 §3.2 allows here.
guard::progress guard::split_target(std::string_view input) {
    auto const target = facts_.target.view(input);
    if (facts_.method.view(input) == tunnel_method) return check_tunnel(target);
    if (target.front() == '/') {
        facts_.path = facts_.target;
    } else if (target == "*") {
        facts_.path = facts_.target;
        return progress::done;
    } else if (split_absolute(input) == progress::refused) {
        return progress::refused;
    }
    auto const question_mark = facts_.path.view(input).find('?');
    if (question_mark != std::string_view::npos) {
        facts_.query = {facts_.path.offset + question_mark + 1,
                        facts_.path.size - question_mark - 1};
        facts_.path.size = question_mark;
    }
    return progress::done;
}

// RFC 9110 §9.3.6: an empty or invalid port is 400; the rest is checked with the version.
guard::progress guard::check_tunnel(std::string_view target) {
    if (!has_port(target))
        return refuse(problem::malformed_request,
                      "The target of CONNECT is not a host with a port.");
    return progress::done;
}

guard::progress guard::split_absolute(std::string_view input) {
    auto const target = facts_.target.view(input);
    auto const colon = target.find("://");
    auto const scheme = target.substr(0, std::min(colon, target.size()));
    if (colon == std::string_view::npos ||
        (!same_token(scheme, "http") && !same_token(scheme, "https")))
        return refuse(problem::malformed_request,
                      "The target is neither a path nor an http or https URI.");
    auto const begin = colon + 3;
    auto const end = std::min(target.find_first_of("/?", begin), target.size());
    if (!is_authority(target.substr(begin, end - begin)))
        return refuse(problem::malformed_request, "The target's authority is not valid.");
    facts_.absolute = true;
    facts_.authority = {facts_.target.offset + begin, end - begin};
    facts_.path = {facts_.target.offset + end, target.size() - end};
    return progress::done;
}

guard::progress guard::read_version(std::string_view input, size_limits const& limits) {
    constexpr std::string_view form = "HTTP/d.d\r\n";
    constexpr std::size_t version_size = form.size() - 2;
    constexpr std::string_view usual = "HTTP/1.1\r\n";
    if (position_ == element_ && input.substr(position_).starts_with(usual) &&
        position_ + version_size <= facts_.message.offset + limits.request_line_bytes_max)
        [[likely]] {
        major_version_ = facts_.minor_version = 1;
        position_ += usual.size();
        return end_request_line(input);
    }
    while (position_ < input.size()) {
        auto const index = position_ - element_;
        char const byte = input[position_];
        auto const fits = form[index] == 'd' ? is_digit(byte) : byte == form[index];
        if (index < version_size &&
            position_ - facts_.message.offset >= limits.request_line_bytes_max)
            return refuse_overlong_line();
        if (!fits)
            return refuse(problem::malformed_request,
                          "The request line does not end with an HTTP version and CRLF.");
        ++position_;
        if (index + 1 == form.size()) {
            major_version_ = static_cast<std::uint8_t>(input[element_ + 5] - '0');
            auto const minor = static_cast<std::uint8_t>(input[element_ + 7] - '0');
            facts_.newer_minor = minor > newest_minor;
            facts_.minor_version = std::min(minor, newest_minor);
            return end_request_line(input);
        }
    }
    return progress::incomplete;
}

guard::progress guard::end_request_line(std::string_view input) {
    element_ = section_ = position_;
    stage_ = stage::fields;
    return check_request_line(input);
}

// The version comes first, so that HTTP/2's preface `PRI * HTTP/2.0` is refused for its version.
guard::progress guard::check_request_line(std::string_view input) {
    auto const method = facts_.method.view(input);
    if (major_version_ != 1)
        return refuse(problem::http_version_not_supported, "Use HTTP/1.1 or HTTP/1.0.");
    if (method == tunnel_method)
        return refuse(problem::method_not_allowed,
                      "CONNECT asks a proxy for a tunnel, and this server is no proxy.");
    if (facts_.target.view(input) == "*" && method != "OPTIONS")
        return refuse(problem::malformed_request, "The target '*' is only for OPTIONS.");
    facts_.verb = method_of(method);
    return progress::done;
}

guard::progress guard::read_fields(std::string_view input, size_limits const& limits) {
    auto const section_end = section_ + limits.header_bytes_max;
    char const* const end = input.data() + std::min(input.size(), section_end);
    char const* position = input.data() + position_;
    for (;;) {
        if (position < end && facts_.field_count == base::limits::header_fields_max &&
            *position != '\r' && lines_.at_line_start())
            return refuse(problem::headers_too_large,
                          "The request has too many fields. Leave some out.");
        auto const event =
            position < end ? lines_.advance(position, end) : field_lines::event::more;
        position_ = static_cast<std::size_t>(position - input.data());
        switch (event) {
            case field_lines::event::more:
                if (position_ < section_end) return progress::incomplete;
                return refuse(problem::headers_too_large,
                              "The header section is too long. Leave fields out, or shorten them.");
            case field_lines::event::refused:
                return refuse(problem::malformed_request, lines_.detail());
            case field_lines::event::last:
                return end_head();
            case field_lines::event::line:
                ++facts_.field_count;
                if (read_field(input, {element_, position_ - element_}) == progress::refused)
                    return progress::refused;
                element_ = position_;
        }
    }
}

// Reads the fields that decide where a message ends and which host it addresses.
guard::progress guard::read_field(std::string_view input, byte_range line) {
    auto const size = lines_.name_size();
    if (size != 4 && size != 14 && size != 17) return progress::done;
    auto const name = input.substr(line.offset, size);
    auto const value = [&] {
        return trim(input.substr(line.offset + size + 1, line.size - size - 3));
    };
    if (same_token(name, "host")) {
        auto const host = value();
        return read_host(host, static_cast<std::size_t>(host.data() - input.data()));
    }
    if (same_token(name, "content-length")) return read_length(value());
    if (same_token(name, "transfer-encoding")) return read_coding(value());
    return progress::done;
}

// RFC 9112 §3.2. The authority of an absolute-form target replaces Host (§3.2.2), which must be
// valid even then.
guard::progress guard::read_host(std::string_view value, std::size_t offset) {
    if (facts_.has_host) return refuse(problem::malformed_request, "Host is repeated.");
    if (!is_authority(value)) return refuse(problem::malformed_request, "Host is not valid.");
    facts_.has_host = true;
    if (!facts_.absolute) facts_.authority = {offset, value.size()};
    return progress::done;
}

// RFC 9112 §6.2, §6.3. RFC 9110 §8.6 lets a recipient accept equal repeats; their sender is broken
// or hostile, so they are refused.
guard::progress guard::read_length(std::string_view value) {
    if (facts_.has_length) return refuse(problem::malformed_request, "Content-Length is repeated.");
    if (facts_.chunked)
        return refuse(problem::malformed_request,
                      "Content-Length and Transfer-Encoding exclude each other.");
    std::uint64_t length = 0;
    bool fits = !value.empty();
    for (char const byte : value)
        fits = fits && is_digit(byte) && !__builtin_mul_overflow(length, 10u, &length) &&
               !__builtin_add_overflow(length, static_cast<unsigned>(byte - '0'), &length);
    if (!fits) return refuse(problem::malformed_request, "Content-Length is not a number.");
    facts_.has_length = true;
    facts_.content_length = length;
    return progress::done;
}

// RFC 9112 §6.1 asks for 501 on an unknown coding. Here every coding but `chunked` is 400: no
// client needs one, and accepting a single word leaves no room for another framing.
guard::progress guard::read_coding(std::string_view value) {
    if (facts_.minor_version == 0)
        return refuse(problem::malformed_request, "HTTP/1.0 has no Transfer-Encoding.");
    if (facts_.chunked) return refuse(problem::malformed_request, "Transfer-Encoding is repeated.");
    if (facts_.has_length)
        return refuse(problem::malformed_request,
                      "Content-Length and Transfer-Encoding exclude each other.");
    if (!same_token(value, "chunked"))
        return refuse(problem::malformed_request, "Transfer-Encoding can only be chunked.");
    facts_.chunked = true;
    return progress::done;
}

guard::progress guard::end_head() {
    facts_.message.size = position_ - facts_.message.offset;
    if (facts_.minor_version == 1 && !facts_.has_host)
        return refuse(problem::malformed_request, "Host is missing.");
    stage_ = stage::complete;
    return progress::done;
}

}  // namespace latchkey::http
