// Byte classes of HTTP messages, and scans over runs of one class. Private to http and http2.
//
//     char const* const end_of_name = skip(position, end, byte_class::token);
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/ascii.hpp"

namespace latchkey::http {

enum class byte_class : std::uint8_t {
    token = 1,       // RFC 9110 §5.6.2
    uri = 2,         // RFC 3986 §2: reserved, unreserved and '%', without '#', which ends a target
    text = 4,        // field values: HTAB, SP, VCHAR, obs-text (RFC 9110 §5.5)
    reg_name = 8,    // RFC 3986 §3.2.2: unreserved, sub-delims and '%'
    unreserved = 16  // RFC 3986 §2.3
};

constexpr std::array<std::uint8_t, 256> make_byte_classes() {
    constexpr std::string_view alphanumeric =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::array<std::uint8_t, 256> table{};
    auto const add = [&table](byte_class kind, std::string_view bytes) {
        for (char const byte : bytes)
            table[static_cast<unsigned char>(byte)] |= static_cast<std::uint8_t>(kind);
    };
    for (auto const kind : {byte_class::uri, byte_class::reg_name, byte_class::unreserved})
        add(kind, alphanumeric);
    add(byte_class::uri, "-._~%:/?[]@!$&'()*+,;=");
    add(byte_class::reg_name, "-._~%!$&'()*+,;=");
    add(byte_class::unreserved, "-._~");
    for (unsigned byte = 0; byte < 256; ++byte) {
        char const text = static_cast<char>(byte);
        if (base::is_token({&text, 1})) add(byte_class::token, {&text, 1});
        if (byte == '\t' || (byte >= 0x20 && byte != 0x7f))
            table[byte] |= static_cast<std::uint8_t>(byte_class::text);
    }
    return table;
}

inline constexpr auto byte_classes = make_byte_classes();

constexpr bool is(char byte, byte_class kind) {
    return (byte_classes[static_cast<unsigned char>(byte)] & static_cast<std::uint8_t>(kind)) != 0;
}

using base::is_digit;

// 0 to 15, or -1.
constexpr int hexadecimal(char byte) {
    if (is_digit(byte)) return byte - '0';
    auto const lower = static_cast<char>(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The first byte in [position, end) that is not of the class, or end.
inline char const* skip(char const* position, char const* end, byte_class kind) {
    // Four look-ups in parallel, one branch.
    auto const classes = [](char byte) { return byte_classes[static_cast<unsigned char>(byte)]; };
    while (end - position >= 4 &&
           (classes(position[0]) & classes(position[1]) & classes(position[2]) &
            classes(position[3]) & static_cast<std::uint8_t>(kind)) != 0)
        position += 4;
    while (position != end && is(*position, kind)) ++position;
    return position;
}

// skip(…, byte_class::text), eight bytes at a time (SWAR): values are the longest part of a head.
// In `stops` a byte's top bit is set where the byte is below 0x20 or is DEL. The lowest set bit is
// exact, since borrows only travel upwards; on little-endian machines it is the first such byte.
inline char const* skip_text(char const* position, char const* end) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = 0x8080808080808080;
    while (end - position >= 8) {
        std::uint64_t word;
        std::memcpy(&word, position, sizeof word);
        auto const no_delete = word ^ (ones * 0x7f);
        auto const stops =
            (((word - ones * 0x20) & ~word) | ((no_delete - ones) & ~no_delete)) & tops;
        if (stops == 0) {
            position += 8;
            continue;
        }
        position += std::countr_zero(stops) / 8;
        if (*position != '\t') return position;
        ++position;
    }
    return skip(position, end, byte_class::text);
}

// Removes optional white space from both ends of a field value (RFC 9110 §5.5).
constexpr std::string_view trim(std::string_view text) {
    auto const blank = [](char byte) { return byte == ' ' || byte == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

// Case-insensitive comparison. `lower` consists of lower-case letters, digits and '-', and `text`
// has no control characters: then setting bit 5 maps only the other case onto a byte of `lower`.
inline bool same_token(std::string_view text, std::string_view lower) {
    if (text.size() != lower.size()) return false;
    constexpr std::uint64_t bit_5 = 0x2020202020202020;
    auto const same_8 = [](char const* left, char const* right) {
        std::uint64_t a;
        std::uint64_t b;
        std::memcpy(&a, left, sizeof a);
        std::memcpy(&b, right, sizeof b);
        return (a | bit_5) == (b | bit_5);
    };
    if (text.size() >= 8) {
        std::size_t index = 0;
        for (; index + 8 <= text.size(); index += 8)
            if (!same_8(text.data() + index, lower.data() + index)) return false;
        return same_8(text.data() + text.size() - 8, lower.data() + lower.size() - 8);
    }
    for (std::size_t index = 0; index < text.size(); ++index)
        if ((text[index] | 0x20) != lower[index]) return false;
    return true;
}

}  // namespace latchkey::http
