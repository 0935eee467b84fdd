#include "api/frame/json/json_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/visible.hpp"

namespace latchkey::api {
namespace {

// Bytes that need no escape in a JSON string: ASCII but control characters, '"' and '\'.
constexpr auto is_plain_byte = [] {
    std::array<bool, 256> table{};
    for (unsigned byte = 0x20; byte < 0x7f; ++byte) table[byte] = byte != '"' && byte != '\\';
    return table;
}();

constexpr char digits[] = "0123456789abcdef";
constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

std::string_view escape_of(unsigned point, char (&six)[6]) {
    switch (point) {
        case '"':
            return "\\\"";
        case '\\':
            return "\\\\";
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            std::memcpy(six, "\\u", 2);
            for (unsigned i = 0; i < 4; ++i) six[2 + i] = digits[point >> (12 - 4 * i) & 15];
            return {six, sizeof six};
    }
}

// Calls `append` with the text in pieces, escaped.
void for_each_piece(std::string_view text, auto append) {
    std::size_t begin = 0;  // of the run that needs no escape
    char six[6];
    for (std::size_t i = 0; i < text.size();) {
        unsigned point = static_cast<unsigned char>(text[i]);
        if (is_plain_byte[point]) {
            ++i;
            continue;
        }
        std::size_t length = 1;
        if (point >= 0x80) {
            length = base::utf8_length(text.substr(i));
            point = length != 0 ? base::hidden_point(text.substr(i), length) : 0;
            if (length != 0 && point == 0) {
                i += length;
                continue;
            }
        }
        append(text.substr(begin, i - begin));
        append(length == 0 ? replacement : escape_of(point, six));
        begin = i += length == 0 ? 1 : length;
    }
    append(text.substr(begin));
}

// Whether no byte needs an escape or a check of UTF-8. SWAR, eight bytes at a time: a byte's top
// bit is set where it is not plain. Borrows travel upwards only, so a word without a set bit has no
// such byte.
bool is_all_plain(std::string_view text) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = 0x8080808080808080;
    auto const has_zero = [](std::uint64_t word) { return (word - ones) & ~word; };
    auto const is_plain = [&](char const* bytes) {
        std::uint64_t word;
        std::memcpy(&word, bytes, sizeof word);
        auto const stops = word | (word - ones * 0x20) | has_zero(word ^ (ones * 0x7f)) |
                           has_zero(word ^ (ones * '"')) | has_zero(word ^ (ones * '\\'));
        return (stops & tops) == 0;
    };
    if (text.size() < 8)
        return std::ranges::all_of(text, [](unsigned char byte) { return is_plain_byte[byte]; });
    for (std::size_t i = 0; i + 8 <= text.size(); i += 8)
        if (!is_plain(text.data() + i)) return false;
    return is_plain(text.data() + text.size() - 8);
}

void append_quoted(auto& output, std::string_view text) {
    append_raw(output, "\"");
    if (is_all_plain(text))
        append_raw(output, text);
    else
        for_each_piece(text, [&](std::string_view piece) { append_raw(output, piece); });
    append_raw(output, "\"");
}

}  // namespace

std::size_t string_bytes_max(std::string_view text) {
    constexpr std::size_t escape_bytes = std::string_view("\\u0000").size();
    return 2 + (is_all_plain(text) ? text.size() : escape_bytes * text.size());
}

void append_string(base::text_writer& output, std::string_view text) {
    append_quoted(output, text);
}
void append_string(std::string& output, std::string_view text) {
    append_quoted(output, text);
}

}  // namespace latchkey::api
