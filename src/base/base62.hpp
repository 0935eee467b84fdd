// The alphabet 0-9A-Za-z and the CRC-32 (IEEE 802.3, as in zlib) that ends a key. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace latchkey::base {

inline constexpr std::string_view base62_digits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// True for [0-9A-Za-z]. One table look-up.
bool is_base62(unsigned char byte);

// `value` as exactly `size` digits, most significant first; higher digits are cut off.
void put_base62(std::uint64_t value, char* output, std::size_t size);

// "00" to "zz".
inline constexpr auto base62_pairs = [] {
    std::array<char, 2 * 62 * 62> pairs{};
    for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
        pairs[2 * i] = base62_digits[i / 62];
        pairs[2 * i + 1] = base62_digits[i % 62];
    }
    return pairs;
}();

// The first `size` digits of `bits` / 2^64 written in base 62: one multiplication for two digits,
// where `put_base62` needs a division for each. Eleven digits are unique for each value. For opaque
// texts (request ids, entity tags); the checksum of a key is `put_base62`, which the contract
// fixes.
inline void put_base62_fraction(std::uint64_t bits, char* output, std::size_t size) {
    __extension__ using wide = unsigned __int128;
    for (; size >= 2; size -= 2, output += 2) {
        auto const product = static_cast<wide>(bits) * (62 * 62);
        std::memcpy(output, &base62_pairs[2 * static_cast<std::size_t>(product >> 64)], 2);
        bits = static_cast<std::uint64_t>(product);
    }
    if (size != 0)
        *output = base62_digits[static_cast<std::size_t>(static_cast<wide>(bits) * 62 >> 64)];
}

// Uniform digits from random bytes, by rejection (62 × 4 = 248 of the 256 byte values are used).
// Returns the number of digits written, less than `size` when the bytes ran out.
std::size_t random_base62(std::string_view random, char* output, std::size_t size);

std::uint32_t crc32(std::string_view bytes);

}  // namespace latchkey::base
