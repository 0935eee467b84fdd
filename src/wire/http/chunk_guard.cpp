// A state machine over single bytes, but for data, which are skipped in one step. It emits runs of
// input between the parts that llhttp must not see: a run ends where an extension begins, and the
// next one begins behind it.
#include "wire/http/chunk_guard.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "wire/http/byte_class.hpp"

namespace latchkey::http {

using base::problem;
namespace limits = base::limits;

namespace {

bool is_blank(char byte) {
    return byte == ' ' || byte == '\t';
}

}  // namespace

chunk_guard::verdict chunk_guard::advance(std::string_view input, std::size_t body_bytes_max,
                                          std::size_t& consumed,
                                          base::function_ref<void(std::string_view)> emit) {
    char const* position = input.data();
    char const* const end = position + input.size();
    char const* pending = position;  // all before it was emitted, or dropped
    auto result = problem_ == problem::none ? verdict::more : verdict::refused;
    while (position != end && result == verdict::more) {
        if (stage_ == stage::data) {
            auto const size =
                std::min<std::uint64_t>(chunk_bytes_, static_cast<std::uint64_t>(end - position));
            chunk_bytes_ -= size;
            position += size;
            if (chunk_bytes_ == 0) stage_ = stage::data_return;
            continue;
        }
        if (stage_ == stage::trailers) {
            result = read_trailers(position, end);
            pending = position;
            if (result == verdict::complete) emit("\r\n");
            continue;
        }
        bool const hidden = is_extension();
        result = read_framing(*position, body_bytes_max);
        if (result == verdict::refused) break;
        if (!hidden && is_extension()) emit({pending, position});
        if (hidden && !is_extension()) pending = position;
        ++position;
        if (stage_ == stage::trailers) emit({pending, position});
    }
    if (!is_extension() && stage_ != stage::trailers && position != pending)
        emit({pending, position});
    consumed = static_cast<std::size_t>(position - input.data());
    return result;
}

chunk_guard::verdict chunk_guard::read_framing(char byte, std::size_t body_bytes_max) {
    switch (stage_) {
        case stage::size:
            return read_size(byte, body_bytes_max);
        case stage::extension_space:
            return read_extension_space(byte);
        case stage::size_line_feed:
            return end_size_line(byte);
        case stage::data_return:
        case stage::data_line_feed:
            return end_data(byte);
        case stage::extension_text:
        case stage::extension_pair:
            return read_quoted(byte);
        default:
            return read_extension(byte);
    }
}

chunk_guard::verdict chunk_guard::refuse(base::problem code, std::string_view detail) {
    problem_ = code;
    detail_ = detail;
    return verdict::refused;
}

// White space is allowed before an extension only: elsewhere parsers disagree about it.
chunk_guard::verdict chunk_guard::read_size(char byte, std::size_t body_bytes_max) {
    if (auto const digit = hexadecimal(byte); digit >= 0) {
        if (++digits_ > limits::chunk_size_digits_max)
            return refuse(problem::malformed_request, "A chunk size has too many digits.");
        chunk_bytes_ = chunk_bytes_ * 16 + static_cast<unsigned>(digit);
        return verdict::more;
    }
    if (digits_ == 0 || (byte != '\r' && byte != ';' && !is_blank(byte)))
        return refuse(problem::malformed_request, "A chunk size is not a hexadecimal number.");
    if (chunk_bytes_ > body_bytes_max - body_bytes_)
        return refuse(
            problem::body_too_large,
            "The body is larger than the service takes. Send less at once, in several requests.");
    if (byte == '\r') {
        stage_ = stage::size_line_feed;
        return verdict::more;
    }
    stage_ = stage::extension_space;
    return read_extension_space(byte);
}

chunk_guard::verdict chunk_guard::read_extension_space(char byte) {
    if (is_blank(byte)) return count_extension(stage::extension_space);
    if (byte == ';') return count_extension(stage::extension);
    return refuse(problem::malformed_request, "A chunk size is not a hexadecimal number.");
}

// Extensions are ignored, but must follow the grammar (RFC 9112 §7.1.1; white space may follow).
// Their size is bounded, since they carry no content.
chunk_guard::verdict chunk_guard::read_extension(char byte) {
    bool const blank = is_blank(byte);
    bool const word = is(byte, byte_class::token);
    switch (stage_) {
        case stage::extension:
            if (blank) return count_extension(stage_);
            if (word) return count_extension(stage::extension_name);
            return refuse(problem::malformed_request, "A chunk extension has no name.");
        case stage::extension_name:
            if (word) return count_extension(stage_);
            [[fallthrough]];
        case stage::after_extension_name:
            if (blank) return count_extension(stage::after_extension_name);
            if (byte == '=') return count_extension(stage::extension_equals);
            return end_extension(byte);
        case stage::extension_equals:
            if (blank) return count_extension(stage_);
            if (word) return count_extension(stage::extension_value);
            if (byte == '"') return count_extension(stage::extension_text);
            return refuse(problem::malformed_request, "A chunk extension has no value.");
        default:
            if (word && stage_ == stage::extension_value) return count_extension(stage_);
            if (blank) return count_extension(stage::extension_end);
            return end_extension(byte);
    }
}

chunk_guard::verdict chunk_guard::read_quoted(char byte) {
    if (!is(byte, byte_class::text))
        return refuse(problem::malformed_request, "A chunk extension holds a control character.");
    if (stage_ == stage::extension_pair) return count_extension(stage::extension_text);
    return count_extension(byte == '"'    ? stage::extension_end
                           : byte == '\\' ? stage::extension_pair
                                          : stage::extension_text);
}

chunk_guard::verdict chunk_guard::end_extension(char byte) {
    if (byte == ';') return count_extension(stage::extension);
    if (byte != '\r')
        return refuse(problem::malformed_request, "A chunk extension is not well-formed.");
    stage_ = stage::size_line_feed;
    return verdict::more;
}

chunk_guard::verdict chunk_guard::count_extension(stage next) {
    if (++extension_bytes_ > limits::chunk_extension_bytes_max ||
        ++extensions_bytes_ > limits::chunk_extensions_bytes_max)
        return refuse(problem::malformed_request, "The chunk extensions are too long.");
    stage_ = next;
    return verdict::more;
}

chunk_guard::verdict chunk_guard::end_size_line(char byte) {
    if (byte != '\n')
        return refuse(problem::malformed_request,
                      "A carriage return is not followed by a line feed.");
    body_bytes_ += chunk_bytes_;
    stage_ = chunk_bytes_ == 0 ? stage::trailers : stage::data;
    digits_ = 0;
    extension_bytes_ = 0;
    return verdict::more;
}

chunk_guard::verdict chunk_guard::end_data(char byte) {
    if (byte != (stage_ == stage::data_return ? '\r' : '\n'))
        return refuse(problem::malformed_request, "A chunk is not followed by CRLF.");
    stage_ = stage_ == stage::data_return ? stage::data_line_feed : stage::size;
    return verdict::more;
}

// Trailers are checked like any fields and then dropped (RFC 9110 §6.5.1).
chunk_guard::verdict chunk_guard::read_trailers(char const*& position, char const* end) {
    auto const remaining = limits::trailer_bytes_max - trailer_bytes_;
    if (remaining == 0) return refuse(problem::headers_too_large, "The trailers are too long.");
    if (trailer_fields_ == limits::trailer_fields_max && lines_.at_line_start() &&
        *position != '\r')
        return refuse(problem::headers_too_large, "The trailers have too many fields.");
    char const* const begin = position;
    auto const event = lines_.advance(
        position, begin + std::min(remaining, static_cast<std::size_t>(end - begin)));
    trailer_bytes_ += static_cast<std::size_t>(position - begin);
    if (event == field_lines::event::refused)
        return refuse(problem::malformed_request, lines_.detail());
    if (event == field_lines::event::line) ++trailer_fields_;
    return event == field_lines::event::last ? verdict::complete : verdict::more;
}

}  // namespace latchkey::http
