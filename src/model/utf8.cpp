#include "model/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/visible.hpp"

namespace latchkey::model {
namespace {

// Length of the first code point of `text` if it is white space; else 0.
std::size_t white_space_bytes(std::string_view text) {
    auto const byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
    if (byte(0) < 0x80) return byte(0) == ' ' || (byte(0) >= 0x09 && byte(0) <= 0x0d) ? 1 : 0;
    if (byte(0) == 0xc2 && text.size() >= 2) return byte(1) == 0x85 || byte(1) == 0xa0 ? 2 : 0;
    if ((byte(0) & 0xf0) != 0xe0 || text.size() < 3) return 0;
    unsigned const point = (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    bool const is_space = point == 0x1680 || (point >= 0x2000 && point <= 0x200a) ||
                          point == 0x2028 || point == 0x2029 || point == 0x202f ||
                          point == 0x205f || point == 0x3000 || point == 0xfeff;
    return is_space ? 3 : 0;
}

}  // namespace

bool is_plain(std::string_view text) {
    // SWAR, eight bytes per step: a byte below 0x20 or equal to '"' or '\' sets its high bit by the
    // borrow of the subtraction; bytes of 0x80 and above never do.
    constexpr std::uint64_t low_bits = 0x0101010101010101;
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    auto const has_zero_byte = [](std::uint64_t word) { return (word - low_bits) & ~word; };
    while (text.size() >= 8) {
        std::uint64_t word;
        std::memcpy(&word, text.data(), sizeof word);
        auto const low = (word - low_bits * 0x20) & ~word;
        if ((low | has_zero_byte(word ^ (low_bits * '"')) |
             has_zero_byte(word ^ (low_bits * '\\'))) &
            high_bits)
            return false;
        text.remove_prefix(8);
    }
    return std::ranges::all_of(text, [](char byte) {
        return static_cast<unsigned char>(byte) >= 0x20 && byte != '"' && byte != '\\';
    });
}

bool has_hidden_point(std::string_view text) {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    for (std::size_t i = 0; i < text.size(); ++i) {
        // SWAR: eight bytes of ASCII are skipped at once.
        std::uint64_t word = high_bits;
        if (i + sizeof word <= text.size()) std::memcpy(&word, text.data() + i, sizeof word);
        if ((word & high_bits) == 0) {
            i += sizeof word - 1;
            continue;
        }
        // All hidden points begin with one of three bytes.
        auto const byte = static_cast<unsigned char>(text[i]);
        if (byte != 0xc2 && byte != 0xd8 && byte != 0xe2) continue;
        auto const rest = text.substr(i);
        auto const length = base::utf8_length(rest);
        if (length > 1 && base::hidden_point(rest, length) != 0) return true;
    }
    return false;
}

std::size_t code_point_count(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

bool is_blank(std::string_view text) {
    while (!text.empty()) {
        auto const length = white_space_bytes(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

bool has_control_character(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == 0x7f) return true;
        // U+0080 to U+009F are C2 80 to C2 9F.
        if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0)
            return true;
    }
    return false;
}

}  // namespace latchkey::model
