#include "base/base62.hpp"

#include <bit>
#include <cstring>

namespace latchkey::base {
namespace {

constexpr auto digit_table = [] {
    std::array<bool, 256> table{};
    for (unsigned char const digit : base62_digits) table[digit] = true;
    return table;
}();

// Slicing-by-8 (Kounavis and Berry, 2005), eight bytes per step: crc_tables[n][b] is the CRC of
// byte b followed by n zero bytes.
constexpr auto crc_tables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xedb88320u : 0u);
        tables[0][i] = value;
    }
    for (std::size_t n = 1; n < tables.size(); ++n)
        for (std::size_t i = 0; i < 256; ++i) {
            auto const previous = tables[n - 1][i];
            tables[n][i] = tables[0][previous & 0xff] ^ (previous >> 8);
        }
    return tables;
}();

}  // namespace

bool is_base62(unsigned char byte) {
    return digit_table[byte];
}

void put_base62(std::uint64_t value, char* output, std::size_t size) {
    for (std::size_t i = size; i-- > 0; value /= 62) output[i] = base62_digits[value % 62];
}

std::size_t random_base62(std::string_view random, char* output, std::size_t size) {
    std::size_t count = 0;
    for (unsigned char const byte : random) {
        if (count == size) break;
        if (byte < 248) output[count++] = base62_digits[byte % 62];
    }
    return count;
}

std::uint32_t crc32(std::string_view bytes) {
    static_assert(std::endian::native == std::endian::little);
    std::uint32_t value = ~0u;
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data(), sizeof word);
        word ^= value;
        value = 0;
        for (std::size_t i = 0; i < 8; ++i) value ^= crc_tables[7 - i][word >> (8 * i) & 0xff];
    }
    for (unsigned char const byte : bytes)
        value = crc_tables[0][(value ^ byte) & 0xff] ^ (value >> 8);
    return ~value;
}

}  // namespace latchkey::base
