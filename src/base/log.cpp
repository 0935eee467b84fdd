#include "base/log.hpp"

#include <unistd.h>

#include <string>

namespace latchkey::base {

void say(severity how, std::string_view sentence) {
    std::string line("latchkey: ");
    if (how == severity::warning) line += "warning: ";
    if (how == severity::failure) line += "error: ";
    line.append(sentence).append("\n");
    // One write, so that lines of several threads do not mix; there is nobody to tell if it fails.
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace latchkey::base
