#include "base/visible.hpp"

namespace latchkey::base {
namespace {

unsigned byte_of(std::string_view text, std::size_t i) {
    return static_cast<unsigned char>(text[i]);
}

void put_escape(std::string& output, std::string_view prefix, unsigned value, unsigned digits) {
    output.append(prefix);
    while (digits-- != 0) output.push_back("0123456789abcdef"[value >> (4 * digits) & 15]);
}

// Of a sequence of that length, which is not 0.
bool is_escaped(std::string_view text, std::size_t length) {
    auto const lead = byte_of(text, 0);
    return length == 1 ? lead < 0x20 || lead == 0x7f : hidden_point(text, length) != 0;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
    auto const lead = byte_of(text, 0);
    if (lead < 0x80) return 1;
    std::size_t const length = lead >= 0xc2 && lead < 0xe0   ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte_of(text, i) & 0xc0) != 0x80) return 0;
    auto const second = byte_of(text, 1);
    bool const overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    bool const outside = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
    return overlong || outside ? 0 : length;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

unsigned hidden_point(std::string_view text, std::size_t length) {
    unsigned const lead = byte_of(text, 0);
    if (length == 2) {
        unsigned const point = (lead & 0x1f) << 6 | (byte_of(text, 1) & 0x3f);
        return point < 0xa0 || point == 0x61c ? point : 0;
    }
    if (length != 3 || lead != 0xe2) return 0;
    unsigned const point = 0x2000u | (byte_of(text, 1) & 0x3f) << 6 | (byte_of(text, 2) & 0x3f);
    bool const hides = point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
                       (point >= 0x2066 && point <= 0x2069);
    return hides ? point : 0;
}

bool is_visible(std::string_view text) {
    while (!text.empty()) {
        auto const length = utf8_length(text);
        if (length == 0 || is_escaped(text, length)) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string visible(std::string_view text) {
    std::string output;
    output.reserve(text.size());
    while (!text.empty()) {
        auto const length = utf8_length(text);
        auto const byte = byte_of(text, 0);
        auto const point = length > 1 ? hidden_point(text, length) : 0;
        if (length == 0)
            put_escape(output, "\\x", byte, 2);
        else if (is_escaped(text, length))
            put_escape(output, "\\u", point != 0 ? point : byte, 4);
        else
            output.append(text.substr(0, length));
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return output;
}

}  // namespace latchkey::base
