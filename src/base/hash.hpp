// XXH3 (xxHash), for tables of keys that clients cannot choose, entity tags of lists, and
// checksums. Not for secrets, and for what a client can choose only with a random seed. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace latchkey::base {

std::uint64_t hash(std::string_view bytes, std::uint64_t seed = 0);

// Combines two hashes; the order matters.
std::uint64_t mix(std::uint64_t left, std::uint64_t right);

}  // namespace latchkey::base
