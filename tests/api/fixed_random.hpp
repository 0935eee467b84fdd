// Randomness that repeats, for programs that compare two runs: linked into one, it stands in for
// getrandom(2) and BoringSSL's generator. One thread.
#pragma once

#include <cstdint>

namespace latchkey::api {

// What is drawn from now on follows from `seed` alone.
void fix_random(std::uint64_t seed);

}  // namespace latchkey::api
