#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace latchkey::base {

void fail_check(char const* message, std::source_location const& location) noexcept {
    std::fprintf(stderr, "latchkey: bug: %s (%s:%u)\n", message, location.file_name(),
                 location.line());
    std::abort();
}

}  // namespace latchkey::base
