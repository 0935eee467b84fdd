// Validates chunked bodies (RFC 9112 §7.1) in front of llhttp: framing bytes, trailers and their
// limits. Sizes, data and the end are passed on to llhttp, which decodes them. Extensions and
// trailers are dropped: both are to be ignored, but llhttp 8.1 does not accept every form of
// extension, and it reads a Content-Length among trailers.
//
//     auto const verdict = guard.advance(input, body_bytes_max, consumed, emit);
//     // input[0, consumed) is valid; do not pass it again. emit(piece) was called, in order, with
//     // those parts of it that llhttp is to see
//
// Keeps no bytes. Belongs to a parser, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/function_ref.hpp"
#include "base/problem.hpp"
#include "wire/http/field_lines.hpp"

namespace latchkey::http {

class chunk_guard {
  public:
    enum class verdict : std::uint8_t { more, complete, refused };

    // `input` continues where the last call stopped. When refused, `consumed` ends before the first
    // invalid byte.
    verdict advance(std::string_view input, std::size_t body_bytes_max, std::size_t& consumed,
                    base::function_ref<void(std::string_view)> emit);

    base::problem problem() const { return problem_; }
    std::string_view detail() const { return detail_; }

  private:
    enum class stage : std::uint8_t {
        size,
        extension_space,  // white space before the `;` of an extension
        extension,        // after the `;`
        extension_name,
        after_extension_name,  // white space after the name
        extension_equals,
        extension_value,
        extension_text,  // a quoted string
        extension_pair,  // after a backslash in it
        extension_end,   // after the quoted string, or white space after the value
        size_line_feed,
        data,
        data_return,
        data_line_feed,
        trailers
    };

    verdict refuse(base::problem code, std::string_view detail);
    verdict read_framing(char byte, std::size_t body_bytes_max);
    verdict read_size(char byte, std::size_t body_bytes_max);
    verdict read_extension_space(char byte);
    verdict read_extension(char byte);
    verdict read_quoted(char byte);
    verdict end_extension(char byte);
    verdict count_extension(stage next);
    bool is_extension() const {
        return stage_ >= stage::extension_space && stage_ <= stage::extension_end;
    }
    verdict end_size_line(char byte);
    verdict end_data(char byte);
    verdict read_trailers(char const*& position, char const* end);

    stage stage_ = stage::size;
    std::uint8_t digits_ = 0;
    base::problem problem_ = base::problem::none;
    std::string_view detail_;
    std::uint64_t chunk_bytes_ = 0;     // remaining of the current chunk
    std::uint64_t body_bytes_ = 0;      // of all chunks so far, with all of the current one
    std::size_t extension_bytes_ = 0;   // of the current chunk
    std::size_t extensions_bytes_ = 0;  // of all chunks
    std::size_t trailer_bytes_ = 0;
    std::size_t trailer_fields_ = 0;
    field_lines lines_;
};

}  // namespace latchkey::http
