#include "wire/http/target.hpp"

#include <algorithm>

#include "wire/http/byte_class.hpp"

namespace latchkey::http {

std::optional<std::string> percent_decode(std::string_view text, bool form) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t index = 0; index < text.size(); ++index) {
        char byte = text[index];
        if (byte == '+' && form) {
            byte = ' ';
        } else if (byte == '%') {
            if (text.size() - index < 3) return std::nullopt;
            auto const high = hexadecimal(text[index + 1]);
            auto const low = hexadecimal(text[index + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            byte = static_cast<char>(high * 16 + low);
            index += 2;
        }
        if (byte == '\0') return std::nullopt;
        decoded.push_back(byte);
    }
    return decoded;
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    encoded.reserve(text.size());
    for (char const byte : text) {
        if (is(byte, byte_class::unreserved)) {
            encoded.push_back(byte);
            continue;
        }
        auto const value = static_cast<unsigned char>(byte);
        encoded.push_back('%');
        encoded.push_back(digits[value >> 4]);
        encoded.push_back(digits[value & 15]);
    }
    return encoded;
}

std::optional<raw_parameter> query_cursor::next() {
    while (!rest_.empty()) {
        auto const end = std::min(rest_.find('&'), rest_.size());
        auto const whole = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        if (whole.empty()) continue;
        auto const equals = std::min(whole.find('='), whole.size());
        auto const value_begin = std::min(equals + 1, whole.size());
        return raw_parameter{whole.substr(0, equals), whole.substr(value_begin), whole};
    }
    return std::nullopt;
}

}  // namespace latchkey::http
