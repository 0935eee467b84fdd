#include "base/base62.hpp"

namespace latchkey::base {
namespace {

constexpr auto digit_table = [] {
    std::array<bool, 256> table{};
    for (unsigned char const digit : base62_digits) table[digit] = true;
    return table;
}();

constexpr auto crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xedb88320u : 0u);
        table[i] = value;
    }
    return table;
}();

}  // namespace

bool is_base62(unsigned char byte) {
    return digit_table[byte];
}

void put_base62(std::uint64_t value, char* to, std::size_t size) {
    for (std::size_t i = size; i-- > 0; value /= 62) to[i] = base62_digits[value % 62];
}

std::size_t random_base62(std::string_view random, char* to, std::size_t size) {
    std::size_t made = 0;
    for (unsigned char const byte : random) {
        if (made == size) break;
        if (byte < 248) to[made++] = base62_digits[byte % 62];
    }
    return made;
}

std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t value = ~0u;
    for (unsigned char const byte : bytes) value = crc_table[(value ^ byte) & 0xff] ^ (value >> 8);
    return ~value;
}

}  // namespace latchkey::base
