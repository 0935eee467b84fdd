#include "base/log.hpp"

#include <unistd.h>

#include <string>

#include "base/visible.hpp"

namespace latchkey::base {

void log(severity level, std::string_view sentence) {
    std::string line("latchkey: ");
    if (level == severity::warning) line += "warning: ";
    if (level == severity::failure) line += "error: ";
    line.append(visible(sentence)).append("\n");
    // One write call, so that lines of several threads do not mix. A failure cannot be reported.
    [[maybe_unused]] auto const result = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace latchkey::base
