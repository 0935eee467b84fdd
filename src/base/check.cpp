#include "base/check.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/system/write_now.hpp"

namespace latchkey::base {

void fail_check(char const* message, std::source_location const& location) noexcept {
    char line[512];
    auto const size = std::snprintf(line, sizeof line, "latchkey: bug: %s (%s:%u)\n", message,
                                    location.file_name(), location.line());
    auto const bytes = std::min(static_cast<std::size_t>(std::max(size, 0)), sizeof line - 1);
    // Nobody may read a pipe that is full: the end must not wait for that.
    [[maybe_unused]] auto const count = write_now(STDERR_FILENO, {line, bytes});
    std::abort();
}

}  // namespace latchkey::base
