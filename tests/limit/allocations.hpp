// Counts what the calling thread allocates with `new`, for tests of paths that must not. Linking
// allocations.cpp replaces the program's operator new.
#pragma once

#include <cstddef>

namespace latchkey::test {

bool counts_allocations();             // not under TSan; then a test of this kind is skipped
std::size_t allocations();             // of this thread, so far
std::size_t allocations_everywhere();  // of all threads, so far

}  // namespace latchkey::test
