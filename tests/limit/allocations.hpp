// Counts what the calling thread allocates with `new`, for tests of paths that must not. Linking
// allocations.cpp replaces the program's operator new.
#pragma once

#include <cstddef>

namespace latchkey::test {

std::size_t allocations();  // of this thread, so far

}  // namespace latchkey::test
