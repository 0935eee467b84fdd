// Deterministic randomness for programs that compare two runs: replaces getrandom(2) and
// BoringSSL's generator at link time. One thread.
#pragma once

#include <cstdint>

namespace latchkey::api {

// All later numbers depend on `seed` alone.
void fix_random(std::uint64_t seed);

}  // namespace latchkey::api
