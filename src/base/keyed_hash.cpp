#include "base/keyed_hash.hpp"

#include <bit>
#include <cstring>

namespace latchkey::base {
namespace {

static_assert(std::endian::native == std::endian::little,
              "blocks are loaded without swapping bytes");

struct sip_state {
    std::uint64_t v0, v1, v2, v3;

    void round() {
        v0 += v1;
        v2 += v3;
        v1 = std::rotl(v1, 13) ^ v0;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 = std::rotl(v0, 32);
        v2 += v1;
        v0 += v3;
        v1 = std::rotl(v1, 17) ^ v2;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 = std::rotl(v2, 32);
    }
    void finish() {
        for (int i = 0; i < 4; ++i) round();
    }
    void absorb(std::uint64_t block) {
        v3 ^= block;
        round();
        round();
        v0 ^= block;
    }
    std::uint64_t sum() const { return v0 ^ v1 ^ v2 ^ v3; }
};

}  // namespace

fingerprint keyed_hash(hash_key const& key, std::uint64_t number, std::string_view bytes) {
    sip_state state{key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d ^ 0xee,
                    key.low ^ 0x6c7967656e657261, key.high ^ 0x7465646279746573};
    state.absorb(number);
    auto const* position = bytes.data();
    auto remaining = bytes.size();
    std::uint64_t block = 0;
    for (; remaining >= sizeof block; position += sizeof block, remaining -= sizeof block) {
        std::memcpy(&block, position, sizeof block);
        state.absorb(block);
    }
    block = 0;
    if (remaining != 0) std::memcpy(&block, position, remaining);
    state.absorb(block | std::uint64_t{bytes.size() + sizeof number} << 56);
    state.v2 ^= 0xee;
    state.finish();
    auto const low = state.sum();
    state.v1 ^= 0xdd;
    state.finish();
    return {low, state.sum()};
}

}  // namespace latchkey::base
