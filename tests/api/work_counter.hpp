// Counts work instead of time, so that a test can bound the cost of an input: every integer
// comparison in the layers that are built for fuzzers (SanitizerCoverage's trace-cmp; each
// iteration of a loop has one), bytes compared, copied, filled and wiped, and allocations. The same
// input costs the same on every machine, except for addresses and random seeds. One thread.
#pragma once

#include <cstdint>

namespace latchkey::test {

void begin_work();
// Units since `begin_work`: 1 for a comparison, 32 bytes moved or 8 bytes compared; 32 for an
// allocation.
std::uint64_t end_work();

}  // namespace latchkey::test
