// The alphabet 0-9A-Za-z and the CRC-32 (IEEE 802.3, as in zlib) that ends a key. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace latchkey::base {

inline constexpr std::string_view base62_digits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// True for [0-9A-Za-z]. One table look-up.
bool is_base62(unsigned char byte);

// `value` as exactly `size` digits, most significant first; what does not fit is cut off.
void put_base62(std::uint64_t value, char* to, std::size_t size);

// `bits` as a fraction of 2^64, the first `size` digits behind its point, each a multiplication
// where `put_base62` takes a division. Eleven digits tell all values apart.
inline void put_base62_fraction(std::uint64_t bits, char* to, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        __extension__ using wide = unsigned __int128;
        auto const product = static_cast<wide>(bits) * 62;
        to[i] = base62_digits[static_cast<std::size_t>(product >> 64)];
        bits = static_cast<std::uint64_t>(product);
    }
}

// Turns random bytes into uniform digits by rejection (62 × 4 = 248 of 256 values are used).
// Returns how many of `size` digits could be made of the bytes.
std::size_t random_base62(std::string_view random, char* to, std::size_t size);

std::uint32_t crc32(std::string_view bytes);

}  // namespace latchkey::base
