#include "base/bytes.hpp"

#include "base/check.hpp"

namespace latchkey::base {
namespace {

int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

}  // namespace

void append_text(std::string& target, std::string_view text) {
    check(text.size() <= 0xffff, "a text of more than 65535 bytes in a record");
    append(target, static_cast<std::uint16_t>(text.size()));
    target.append(text);
}

std::string to_hex(std::string_view bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (unsigned char const byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

bool from_hex(std::string_view hex, char* output, std::size_t size) {
    if (hex.size() != size * 2) return false;
    for (char const digit : hex)
        if (hex_value(digit) < 0) return false;
    for (std::size_t i = 0; i < size; ++i)
        output[i] = static_cast<char>(hex_value(hex[2 * i]) << 4 | hex_value(hex[2 * i + 1]));
    return true;
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < left.size(); ++i)
        difference |= static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]);
    __asm__("" : "+r"(difference));  // keeps the compiler from adding an early exit
    return difference == 0;
}

void wipe_all(void* bytes, std::size_t size) {
    ::explicit_bzero(bytes, size);
}

}  // namespace latchkey::base
