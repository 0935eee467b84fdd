// Counts allocations with `new`, for tests of paths that must not allocate. Linking allocations.cpp
// replaces the program's operator new.
#pragma once

#include <cstddef>

namespace latchkey::test {

bool counts_allocations();             // false under TSan: the test is skipped
std::size_t allocations();             // of this thread, so far
std::size_t allocations_everywhere();  // of all threads, so far

}  // namespace latchkey::test
