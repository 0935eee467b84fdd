// Classes of bytes in HTTP messages, and how to run over many of one class. Private to the layer.
//
//     char const* const end_of_name = skip(at, end, byte_class::token);
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace latchkey::http {

enum class byte_class : std::uint8_t {
    token = 1,       // RFC 9110 §5.6.2
    uri = 2,         // RFC 3986 §2: reserved, unreserved and '%', without '#', which ends a target
    text = 4,        // what a field value may hold: HTAB, SP, VCHAR, obs-text (RFC 9110 §5.5)
    reg_name = 8,    // RFC 3986 §3.2.2: unreserved, sub-delims and '%'
    unreserved = 16  // RFC 3986 §2.3
};

constexpr std::array<std::uint8_t, 256> make_byte_classes() {
    constexpr std::string_view alphanumeric =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::array<std::uint8_t, 256> table{};
    auto const give = [&table](byte_class what, std::string_view bytes) {
        for (char const byte : bytes)
            table[static_cast<unsigned char>(byte)] |= static_cast<std::uint8_t>(what);
    };
    for (auto const what :
         {byte_class::token, byte_class::uri, byte_class::reg_name, byte_class::unreserved})
        give(what, alphanumeric);
    give(byte_class::token, "!#$%&'*+-.^_`|~");
    give(byte_class::uri, "-._~%:/?[]@!$&'()*+,;=");
    give(byte_class::reg_name, "-._~%!$&'()*+,;=");
    give(byte_class::unreserved, "-._~");
    for (unsigned byte = 0; byte < 256; ++byte)
        if (byte == '\t' || (byte >= 0x20 && byte != 0x7f))
            table[byte] |= static_cast<std::uint8_t>(byte_class::text);
    return table;
}

inline constexpr auto byte_classes = make_byte_classes();

constexpr bool is(char byte, byte_class what) {
    return (byte_classes[static_cast<unsigned char>(byte)] & static_cast<std::uint8_t>(what)) != 0;
}

constexpr bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

// 0 to 15, or -1.
constexpr int hexadecimal(char byte) {
    if (is_digit(byte)) return byte - '0';
    auto const lower = static_cast<char>(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The first byte in [at, end) that is not of the class, or end.
inline char const* skip(char const* at, char const* end, byte_class what) {
    // Four at a time: they are looked up side by side and judged once.
    auto const classes = [](char byte) { return byte_classes[static_cast<unsigned char>(byte)]; };
    while (end - at >= 4 && (classes(at[0]) & classes(at[1]) & classes(at[2]) & classes(at[3]) &
                             static_cast<std::uint8_t>(what)) != 0)
        at += 4;
    while (at != end && is(*at, what)) ++at;
    return at;
}

// skip(…, byte_class::text), eight bytes at a time: values are the longest part of a head. A byte's
// top bit is set where it is below 0x20 or is DEL; the lowest such bit is exact, since borrows only
// travel upwards, so a head is read right on little-endian machines.
inline char const* skip_text(char const* at, char const* end) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = 0x8080808080808080;
    while (end - at >= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        auto const deleted = word ^ (ones * 0x7f);
        auto const stops = (((word - ones * 0x20) & ~word) | ((deleted - ones) & ~deleted)) & tops;
        if (stops == 0) {
            at += 8;
            continue;
        }
        at += std::countr_zero(stops) / 8;
        if (*at != '\t') return at;
        ++at;
    }
    return skip(at, end, byte_class::text);
}

// A field value without the optional white space around it (RFC 9110 §5.5).
constexpr std::string_view trim(std::string_view text) {
    auto const blank = [](char byte) { return byte == ' ' || byte == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

// Ignores case. `lower` consists of lower-case letters, digits and '-', and `text` has no control
// characters: then setting bit 5 maps nothing but the other case onto a byte of `lower`.
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
        std::size_t at = 0;
        for (; at + 8 <= text.size(); at += 8)
            if (!same_8(text.data() + at, lower.data() + at)) return false;
        return same_8(text.data() + text.size() - 8, lower.data() + lower.size() - 8);
    }
    for (std::size_t at = 0; at < text.size(); ++at)
        if ((text[at] | 0x20) != lower[at]) return false;
    return true;
}

}  // namespace latchkey::http
