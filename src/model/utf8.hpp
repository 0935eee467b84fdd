// Properties of valid UTF-8 text (RFC 3629): what JSON escapes, its length, control characters and
// white space. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace latchkey::model {

// True when a JSON string needs no escape for it (RFC 8259 §7).
bool is_plain(std::string_view text);
// Has a code point that base::hidden_point knows. `text` is valid UTF-8.
bool has_hidden_point(std::string_view text);
// Number of code points.
std::size_t code_point_count(std::string_view text);
// Contains U+0000 to U+001F or U+007F to U+009F.
bool has_control_character(std::string_view text);
// Empty or only white space (Unicode's White_Space, and U+FEFF as in ECMAScript's \s).
bool is_blank(std::string_view text);

}  // namespace latchkey::model
