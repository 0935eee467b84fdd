#include "wire/jwt/base64url.hpp"

#include <array>
#include <cstdint>

namespace latchkey::jwt {
namespace {

constexpr std::uint8_t not_a_digit = 0xff;

constexpr std::array<std::uint8_t, 256> digits = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(not_a_digit);
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
    return table;
}();

constexpr unsigned digit_of(char character) {
    return digits[static_cast<unsigned char>(character)];
}

}  // namespace

std::optional<std::string_view> decode_base64url(std::string_view text, char* output) {
    auto const* input = text.data();
    char* position = output;
    unsigned invalid = 0;  // has a bit above the lowest six if a character was none
    for (auto const* const end = input + text.size() / 4 * 4; input != end; input += 4) {
        unsigned const a = digit_of(input[0]), b = digit_of(input[1]), c = digit_of(input[2]),
                       d = digit_of(input[3]);
        invalid |= a | b | c | d;
        unsigned const word = a << 18 | b << 12 | c << 6 | d;
        *position++ = static_cast<char>(word >> 16);
        *position++ = static_cast<char>(word >> 8);
        *position++ = static_cast<char>(word);
    }
    auto const rest = text.size() % 4;
    if (rest == 1) return std::nullopt;
    if (rest > 1) {
        unsigned const a = digit_of(input[0]), b = digit_of(input[1]),
                       c = rest == 3 ? digit_of(input[2]) : 0;
        invalid |= a | b | c;
        unsigned const word = a << 18 | b << 12 | c << 6;
        *position++ = static_cast<char>(word >> 16);
        if (rest == 3) *position++ = static_cast<char>(word >> 8);
        if ((rest == 3 ? word & 0xff : word & 0xffff) != 0) return std::nullopt;
    }
    if (invalid > 63) return std::nullopt;
    return std::string_view(output, static_cast<std::size_t>(position - output));
}

std::optional<std::string> decode_base64url(std::string_view text) {
    std::string bytes(decoded_bytes(text.size()), '\0');
    if (!decode_base64url(text, bytes.data())) return std::nullopt;
    return bytes;
}

bool is_base64url(char character) {
    return digit_of(character) != not_a_digit;
}

unsigned base64url_value(char character) {
    return digit_of(character);
}

}  // namespace latchkey::jwt
