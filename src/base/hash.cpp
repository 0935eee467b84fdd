#include "base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace latchkey::base {

std::uint64_t hash(std::string_view bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t mix(std::uint64_t left, std::uint64_t right) {
    std::uint64_t const pair[] = {left, right};
    return XXH3_64bits(pair, sizeof pair);
}

}  // namespace latchkey::base
