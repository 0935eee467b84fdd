// State machine over the field lines of a head or of trailers. Refuses every byte on which parsers
// are known to differ (RFC 9112 §2.2, §5): a bare CR or LF, a folded line, an empty name, a name
// that is not a token, white space before the colon, control characters. Keeps its state, not the
// bytes, so lines may arrive in any pieces. Private to the layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace latchkey::http {

class field_lines {
  public:
    // line: a field line ended at `position`; last: the empty line ended there; more: all bytes
    // were consumed; refused: the byte at `position` is invalid, and `detail` says why.
    enum class event : std::uint8_t { more, line, last, refused };

    // Advances `position` towards `end`, at most to the end of one line.
    event advance(char const*& position, char const* end);

    // Length of the name on the line that just ended.
    std::size_t name_size() const { return name_size_; }
    std::string_view detail() const { return detail_; }
    // True before the first byte of a line.
    bool at_line_start() const { return state_ == state::line_start; }

  private:
    enum class state : std::uint8_t { line_start, name, value, line_feed, last_line_feed };

    event refuse(std::string_view detail) {
        detail_ = detail;
        return event::refused;
    }
    event start_line(char first);
    event end_line(char byte);

    state state_ = state::line_start;
    std::size_t name_size_ = 0;
    std::string_view detail_;
};

}  // namespace latchkey::http
