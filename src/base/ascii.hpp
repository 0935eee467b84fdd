// Classes and case of ASCII bytes, without a locale: bytes of UTF-8 are of no class and left alone.
// What HTTP compares without case is ASCII (RFC 9110 §5.1, §8.3.1, §11.1). The hot path has tables
// (wire/http/byte_class.hpp). Pure functions, any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace latchkey::base {

constexpr bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}
constexpr bool is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

// A `token`, such as the name of a field (RFC 9110 §5.6.2).
constexpr bool is_token(std::string_view text) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::ranges::all_of(text, [&](char byte) {
        return is_digit(byte) || is_letter(byte) || others.find(byte) != others.npos;
    });
}

constexpr char to_lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + ('a' - 'A')) : byte;
}
inline std::string to_lower(std::string_view text) {
    std::string lower(text);
    for (char& byte : lower) byte = to_lower(byte);
    return lower;
}

constexpr bool equal_ignoring_case(std::string_view left, std::string_view right) {
    return std::ranges::equal(
        left, right, [](char one, char other) { return to_lower(one) == to_lower(other); });
}

// For the scheme of a URL, whose case does not count (RFC 3986 §3.1).
constexpr bool begins_ignoring_case(std::string_view text, std::string_view beginning) {
    return equal_ignoring_case(text.substr(0, beginning.size()), beginning);
}

}  // namespace latchkey::base
