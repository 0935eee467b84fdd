// Untrusted text for a terminal: everything that moves the cursor, ends the line or reorders the
// text is escaped, so that a line means what it looks like. Pure functions, any thread.
//
//     base::visible("a\x1b[2Jb")  ==  "a\\u001b[2Jb"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace latchkey::base {

// Length of the valid UTF-8 sequence (RFC 3629) at the start of `text`, which is not empty; 1 for
// ASCII, 0 when there is none.
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

// The code point of the sequence of that length at the start of `text` when it is a C1 control
// character (U+0080 to U+009F), a line or paragraph separator, or one that only sets the direction
// of others (UAX #9 §2); else 0. All of these take two or three bytes.
unsigned hidden_point(std::string_view text, std::size_t length);

// UTF-8 of which `visible` escapes nothing.
bool is_visible(std::string_view text);

// Escapes control characters, the code points above and bytes that are not UTF-8 as \u00XX, \uXXXX
// and \xXX. A backslash is kept: the result is for display, not for parsing.
std::string visible(std::string_view text);

}  // namespace latchkey::base
