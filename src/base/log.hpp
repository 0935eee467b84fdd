// What the program says to its operator on standard error: one line, `latchkey: …`. Not for
// requests (those have the access log) and never with a secret in it. Any thread; blocks.
#pragma once

#include <string_view>

namespace latchkey::base {

enum class severity { info, warning, failure };

void say(severity how, std::string_view sentence);
inline void say(std::string_view sentence) {
    say(severity::info, sentence);
}

}  // namespace latchkey::base
