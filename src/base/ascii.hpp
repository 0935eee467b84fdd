// Case of ASCII letters, which is all that HTTP compares without case (RFC 9110 §5.1, §8.3.1,
// §11.1): no locale, and bytes of UTF-8 are left alone. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <string_view>

namespace latchkey::base {

constexpr char to_lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + ('a' - 'A')) : byte;
}

constexpr bool equal_ignoring_case(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, {}, to_lower, to_lower);
}

}  // namespace latchkey::base
