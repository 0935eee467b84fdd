// XXH3 (xxHash): table hashing of what nobody can choose, entity tags of lists, shard choice.
// Not for secrets and not for what a client could aim at, unless a random seed is given.
#pragma once

#include <cstdint>
#include <string_view>

namespace latchkey::base {

std::uint64_t hash(std::string_view bytes, std::uint64_t seed = 0);

// Joins two hashes, order matters.
std::uint64_t mix(std::uint64_t left, std::uint64_t right);

}  // namespace latchkey::base
