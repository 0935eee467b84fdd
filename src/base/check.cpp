#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace latchkey::base {

void fail_check(char const* what, std::source_location const& where) noexcept {
    std::fprintf(stderr, "latchkey: bug: %s (%s:%u)\n", what, where.file_name(), where.line());
    std::abort();
}

}  // namespace latchkey::base
