#include "wire/http/field_lines.hpp"

#include "wire/http/byte_class.hpp"

namespace latchkey::http {

field_lines::event field_lines::advance(char const*& position, char const* end) {
    while (position != end) {
        switch (state_) {
            case state::line_start: {
                if (start_line(*position) == event::refused) return event::refused;
                if (state_ == state::last_line_feed) ++position;
                break;
            }
            case state::name: {
                char const* const stop = skip(position, end, byte_class::token);
                name_size_ += static_cast<std::size_t>(stop - position);
                position = stop;
                if (position == end) return event::more;
                if (*position != ':')
                    return refuse("A field name holds a byte that is not allowed.");
                state_ = state::value;
                ++position;
                break;
            }
            case state::value: {
                position = skip_text(position, end);
                if (position == end) return event::more;
                if (*position != '\r') return refuse("A field value holds a control character.");
                state_ = state::line_feed;
                ++position;
                break;
            }
            case state::line_feed:
            case state::last_line_feed: {
                auto const result = end_line(*position);
                if (result != event::refused) ++position;
                return result;
            }
        }
    }
    return event::more;
}

field_lines::event field_lines::start_line(char first) {
    name_size_ = 0;
    if (first == '\r') {
        state_ = state::last_line_feed;
        return event::more;
    }
    if (first == ' ' || first == '\t')
        return refuse("A line begins with white space; folded lines are not accepted.");
    if (first == ':') return refuse("A field name is empty.");
    state_ = state::name;
    return event::more;
}

field_lines::event field_lines::end_line(char byte) {
    if (byte != '\n') return refuse("A carriage return is not followed by a line feed.");
    auto const result = state_ == state::line_feed ? event::line : event::last;
    state_ = state::line_start;
    return result;
}

}  // namespace latchkey::http
