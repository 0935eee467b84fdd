#include "api/json_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace latchkey::api {
namespace {

// Bytes that stand for themselves in a JSON string: ASCII but control characters, '"' and '\'.
constexpr auto is_plain_byte = [] {
    std::array<bool, 256> table{};
    for (unsigned byte = 0x20; byte < 0x7f; ++byte) table[byte] = byte != '"' && byte != '\\';
    return table;
}();

// Length of the valid UTF-8 sequence (RFC 3629) that begins `text`; 0 when there is none.
std::size_t sequence_length(std::string_view text) {
    auto const at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    auto const lead = at(0);
    std::size_t const length = lead >= 0xc2 && lead < 0xe0   ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    bool const overlong = (lead == 0xe0 && at(1) < 0xa0) || (lead == 0xf0 && at(1) < 0x90);
    bool const outside = (lead == 0xed && at(1) >= 0xa0) || (lead == 0xf4 && at(1) >= 0x90);
    return overlong || outside ? 0 : length;
}

std::string_view escape_of(unsigned char byte, char (&six)[6]) {
    static constexpr char digits[] = "0123456789abcdef";
    switch (byte) {
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
            std::memcpy(six, "\\u00", 4);
            six[4] = digits[byte >> 4];
            six[5] = digits[byte & 15];
            return {six, sizeof six};
    }
}

// Gives the text away in pieces, each as it is to stand between the quotes.
void for_each_piece(std::string_view text, auto give) {
    std::size_t from = 0;  // of the run that stays as it is
    char six[6];
    for (std::size_t i = 0; i < text.size();) {
        auto const byte = static_cast<unsigned char>(text[i]);
        if (is_plain_byte[byte]) {
            ++i;
            continue;
        }
        if (auto const length = byte >= 0x80 ? sequence_length(text.substr(i)) : 0; length != 0) {
            i += length;
            continue;
        }
        give(text.substr(from, i - from));
        give(byte >= 0x80 ? std::string_view("\xef\xbf\xbd") : escape_of(byte, six));
        from = ++i;
    }
    give(text.substr(from));
}

// No byte needs an escape or a look at UTF-8. Eight at a time: a byte's top bit is set where it is
// none of the plain ones; borrows travel upwards, so that a word without a set bit has none.
bool is_all_plain(std::string_view text) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = 0x8080808080808080;
    auto const has_zero = [](std::uint64_t word) { return (word - ones) & ~word; };
    auto const is_plain = [&](char const* at) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
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

}  // namespace

std::size_t string_bytes_max(std::string_view text) {
    constexpr std::size_t escape_bytes = std::string_view("\\u0000").size();
    return 2 + (is_all_plain(text) ? text.size() : escape_bytes * text.size());
}

void put_string(base::text_writer& to, std::string_view text) {
    to.put('"');
    if (is_all_plain(text))
        to.put(text);
    else
        for_each_piece(text, [&](std::string_view piece) { to.put(piece); });
    to.put('"');
}

void append_string(std::string& to, std::string_view text) {
    to.push_back('"');
    for_each_piece(text, [&](std::string_view piece) { to.append(piece); });
    to.push_back('"');
}

}  // namespace latchkey::api
