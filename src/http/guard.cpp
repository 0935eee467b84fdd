#include "http/guard.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "http/authority.hpp"
#include "http/bytes.hpp"

namespace latchkey::http {

using base::problem;

bool guard::read_request_line(std::string_view input, settings const& limits) {
    while (stage_ < stage::fields)
        if (read_stage(input, limits) != progress::done) return false;
    return stage_ == stage::fields && at_ == section_;
}

guard::verdict guard::advance(std::string_view input, settings const& limits) {
    while (stage_ < stage::complete)
        if (read_stage(input, limits) == progress::waits) return verdict::more;
    return stage_ == stage::complete ? verdict::complete : verdict::refused;
}

guard::progress guard::read_stage(std::string_view input, settings const& limits) {
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

guard::progress guard::refuse(base::problem what, std::string_view detail) {
    stage_ = stage::refused;
    problem_ = what;
    detail_ = detail;
    return progress::refused;
}

// RFC 9112 §2.2: a server should ignore at least one empty line before the request line.
guard::progress guard::read_empty_lines(std::string_view input) {
    while (at_ < input.size() && input[at_] == '\r') {
        if (at_ + 1 == input.size()) return progress::waits;
        if (input[at_ + 1] != '\n')
            return refuse(problem::malformed_request,
                          "A carriage return is not followed by a line feed.");
        if (++empty_lines_ > base::limits::empty_lines_before_request_max)
            return refuse(problem::malformed_request, "Too many empty lines before a request.");
        at_ += 2;
    }
    if (at_ == input.size()) return progress::waits;
    if (input[at_] == 0x16)
        return refuse(problem::malformed_request,
                      "The bytes are those of a TLS handshake, and this port speaks plain HTTP.");
    facts_.message.at = facts_.method.at = at_;
    stage_ = stage::method;
    return progress::done;
}

// RFC 9112 §3 asks for 501 when a method, and for 414 when a target, is longer than any that the
// server would look at.
guard::progress guard::read_method(std::string_view input, settings const& limits) {
    auto const line_end = facts_.message.at + limits.request_line_bytes_max;
    auto const end = std::min(input.size(), line_end);
    at_ = static_cast<std::size_t>(skip(input.data() + at_, input.data() + end, byte_class::token) -
                                   input.data());
    if (at_ == end) {
        if (at_ == input.size()) return progress::waits;
        return refuse(problem::method_not_implemented, "The method is too long.");
    }
    facts_.method.size = at_ - facts_.method.at;
    if (input[at_] != ' ' || facts_.method.size == 0)
        return refuse(problem::malformed_request, "The request does not begin with a method.");
    element_ = ++at_;
    stage_ = stage::target;
    return progress::done;
}

guard::progress guard::refuse_overlong_line() {
    return refuse(problem::uri_too_long, "The request line is too long.");
}

guard::progress guard::read_target(std::string_view input, settings const& limits) {
    auto const line_end = facts_.message.at + limits.request_line_bytes_max;
    auto const end = std::min(input.size(), line_end);
    if (at_ < end && at_ == element_) {
        char const first = input[at_];
        if (first != '/' && first != '*' && (first | 0x20) != 'h')
            return refuse(problem::malformed_request,
                          "The target is neither a path nor an http or https URI.");
    }
    if (at_ < end)
        at_ = static_cast<std::size_t>(
            skip(input.data() + at_, input.data() + end, byte_class::uri) - input.data());
    if (at_ >= end) return at_ == input.size() ? progress::waits : refuse_overlong_line();
    if (input[at_] != ' ')
        return refuse(problem::malformed_request,
                      "The target holds a byte that is not allowed, or no version follows it.");
    facts_.target = {element_, at_ - element_};
    element_ = ++at_;
    stage_ = stage::version;
    return split_target(input);
}

// Path and query of the forms that RFC 9112 §3.2 allows here.
guard::progress guard::split_target(std::string_view input) {
    auto const target = facts_.target.in(input);
    if (target.front() == '/') {
        facts_.path = facts_.target;
    } else if (target == "*") {
        facts_.path = facts_.target;
        return progress::done;
    } else if (split_absolute(input) == progress::refused) {
        return progress::refused;
    }
    auto const mark = facts_.path.in(input).find('?');
    if (mark != std::string_view::npos) {
        facts_.query = {facts_.path.at + mark + 1, facts_.path.size - mark - 1};
        facts_.path.size = mark;
    }
    return progress::done;
}

guard::progress guard::split_absolute(std::string_view input) {
    auto const target = facts_.target.in(input);
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
    facts_.authority = {facts_.target.at + begin, end - begin};
    facts_.path = {facts_.target.at + end, target.size() - end};
    return progress::done;
}

guard::progress guard::read_version(std::string_view input, settings const& limits) {
    constexpr std::string_view form = "HTTP/d.d\r\n";
    constexpr std::size_t version_size = form.size() - 2;
    constexpr std::string_view usual = "HTTP/1.1\r\n";
    if (at_ == element_ && input.substr(at_).starts_with(usual) &&
        at_ + version_size <= facts_.message.at + limits.request_line_bytes_max) [[likely]] {
        major_version_ = facts_.minor_version = 1;
        at_ += usual.size();
        return end_request_line(input);
    }
    while (at_ < input.size()) {
        auto const index = at_ - element_;
        char const byte = input[at_];
        auto const fits = form[index] == 'd' ? is_digit(byte) : byte == form[index];
        if (index < version_size && at_ - facts_.message.at >= limits.request_line_bytes_max)
            return refuse_overlong_line();
        if (!fits)
            return refuse(problem::malformed_request,
                          "The request line does not end with an HTTP version and CRLF.");
        ++at_;
        if (index + 1 == form.size()) {
            major_version_ = static_cast<std::uint8_t>(input[element_ + 5] - '0');
            facts_.minor_version = static_cast<std::uint8_t>(input[element_ + 7] - '0');
            return end_request_line(input);
        }
    }
    return progress::waits;
}

guard::progress guard::end_request_line(std::string_view input) {
    element_ = section_ = at_;
    stage_ = stage::fields;
    return judge_request_line(input);
}

// In this order, so that HTTP/2's preface `PRI * HTTP/2.0` is told about the version.
guard::progress guard::judge_request_line(std::string_view input) {
    auto const method = facts_.method.in(input);
    if (major_version_ != 1 || facts_.minor_version > 1)
        return refuse(problem::http_version_not_supported, "Use HTTP/1.1 or HTTP/1.0.");
    if (method == "CONNECT")
        return refuse(problem::malformed_request, "CONNECT is for proxies, and this is none.");
    if (facts_.target.in(input) == "*" && method != "OPTIONS")
        return refuse(problem::malformed_request, "The target '*' is only for OPTIONS.");
    auto const verb = method_of(method);
    if (!verb) return refuse(problem::method_not_implemented, "No such method is implemented.");
    facts_.verb = *verb;
    return progress::done;
}

guard::progress guard::read_fields(std::string_view input, settings const& limits) {
    auto const section_end = section_ + limits.header_bytes_max;
    char const* const end = input.data() + std::min(input.size(), section_end);
    char const* at = input.data() + at_;
    for (;;) {
        if (at < end && facts_.field_count == base::limits::header_fields_max && *at != '\r' &&
            lines_.at_line_start())
            return refuse(problem::headers_too_large, "The request has too many fields.");
        auto const event = at < end ? lines_.advance(at, end) : field_lines::event::more;
        at_ = static_cast<std::size_t>(at - input.data());
        switch (event) {
            case field_lines::event::more:
                if (at_ < section_end) return progress::waits;
                return refuse(problem::headers_too_large, "The header section is too long.");
            case field_lines::event::refused:
                return refuse(problem::malformed_request, lines_.detail());
            case field_lines::event::last:
                return judge_head();
            case field_lines::event::line:
                ++facts_.field_count;
                if (judge_field(input, {element_, at_ - element_}) == progress::refused)
                    return progress::refused;
                element_ = at_;
        }
    }
}

// The fields that decide where a message ends and whom it is for.
guard::progress guard::judge_field(std::string_view input, stretch line) {
    auto const size = lines_.name_size();
    if (size != 4 && size != 14 && size != 17) return progress::done;
    auto const name = input.substr(line.at, size);
    auto const value = [&] { return trim(input.substr(line.at + size + 1, line.size - size - 3)); };
    if (same_token(name, "host")) {
        auto const host = value();
        return judge_host(host, static_cast<std::size_t>(host.data() - input.data()));
    }
    if (same_token(name, "content-length")) return judge_length(value());
    if (same_token(name, "transfer-encoding")) return judge_coding(value());
    return progress::done;
}

// RFC 9112 §3.2. An absolute-form target's authority replaces Host (§3.2.2), which must be valid
// all the same.
guard::progress guard::judge_host(std::string_view value, std::size_t at) {
    if (facts_.has_host) return refuse(problem::malformed_request, "Host is repeated.");
    if (!is_authority(value)) return refuse(problem::malformed_request, "Host is not valid.");
    facts_.has_host = true;
    if (!facts_.absolute) facts_.authority = {at, value.size()};
    return progress::done;
}

// RFC 9112 §6.2, §6.3. RFC 9110 §8.6 lets a recipient accept equal repeats; a sender that makes
// them is broken or hostile, so they are refused.
guard::progress guard::judge_length(std::string_view value) {
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

// RFC 9112 §6.1. An unknown coding would be 501 there, but no client of this service has use for
// one, and a server that understands just one word cannot be talked into another framing.
guard::progress guard::judge_coding(std::string_view value) {
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

guard::progress guard::judge_head() {
    facts_.message.size = at_ - facts_.message.at;
    if (facts_.minor_version == 1 && !facts_.has_host)
        return refuse(problem::malformed_request, "Host is missing.");
    stage_ = stage::complete;
    return progress::done;
}

}  // namespace latchkey::http
