// Bytes as the RFCs print them: "8286 8441 0f77".
#pragma once

#include <string>
#include <string_view>

namespace latchkey::http2 {

inline std::string bytes_of(std::string_view hex) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string bytes;
    unsigned half = 0, value = 0;
    for (char const digit : hex) {
        auto const position = digits.find(digit);
        if (position == digits.npos) continue;
        value = value << 4 | static_cast<unsigned>(position);
        if (++half % 2 == 0) bytes.push_back(static_cast<char>(value));
    }
    return bytes;
}

}  // namespace latchkey::http2
