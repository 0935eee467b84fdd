// The guard of chunked bodies (RFC 9112 §7.1): the bytes of the framing and of the trailers, and
// their limits. It lets through what llhttp may see; llhttp decodes it. Extensions and trailers are
// not shown to it: both are to be ignored, but llhttp 8.1 does not take extensions in all their
// forms, and it reads a Content-Length among trailers.
//
//     auto const verdict = guard.advance(input, body_bytes_max, taken, show);
//     // input[0, taken) is sound, and need not be given again; show(piece) was called with what
//     // of it is size, data and end, in order
//
// Keeps no bytes. Belongs to a parser, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/function_ref.hpp"
#include "base/problem.hpp"
#include "http/field_lines.hpp"

namespace latchkey::http {

class chunk_guard {
  public:
    enum class verdict : std::uint8_t { more, complete, refused };

    // Goes on behind what was taken before. `taken` ends before the byte that was refused.
    verdict advance(std::string_view input, std::size_t body_bytes_max, std::size_t& taken,
                    base::function_ref<void(std::string_view)> show);

    base::problem problem() const { return problem_; }
    std::string_view detail() const { return detail_; }

  private:
    enum class stage : std::uint8_t {
        size,
        extension_space,  // white space before the `;` of an extension
        extension,        // behind that
        extension_name,
        extension_named,  // white space behind the name
        extension_equals,
        extension_value,
        extension_text,  // within quotes
        extension_pair,  // behind a backslash there
        extension_end,   // behind the quotes, or white space behind the value
        size_line_feed,
        data,
        data_return,
        data_line_feed,
        trailers
    };

    verdict refuse(base::problem what, std::string_view detail);
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
    verdict read_trailers(char const*& at, char const* end);

    stage stage_ = stage::size;
    std::uint8_t digits_ = 0;
    base::problem problem_ = base::problem::none;
    std::string_view detail_;
    std::uint64_t chunk_bytes_ = 0;     // still to come of the current chunk
    std::uint64_t body_bytes_ = 0;      // of all chunks so far, the current one counted whole
    std::size_t extension_bytes_ = 0;   // of the current chunk
    std::size_t extensions_bytes_ = 0;  // of all chunks
    std::size_t trailer_bytes_ = 0;
    std::size_t trailer_fields_ = 0;
    field_lines lines_;
};

}  // namespace latchkey::http
