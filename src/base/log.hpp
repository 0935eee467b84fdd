// Messages to the operator on standard error: one line, `latchkey: …`, with control characters
// escaped (visible.hpp). Not for requests (those have the access log), and never with a secret. Any
// thread; blocks.
#pragma once

#include <string_view>

namespace latchkey::base {

enum class severity { info, warning, failure };

void log(severity level, std::string_view sentence);
inline void log(std::string_view sentence) {
    log(severity::info, sentence);
}

}  // namespace latchkey::base
