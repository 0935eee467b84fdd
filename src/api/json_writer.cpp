#include "api/json_writer.hpp"

#include <array>

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

void append_escape(std::string& to, unsigned char byte) {
    static constexpr char digits[] = "0123456789abcdef";
    switch (byte) {
        case '"':
            to.append("\\\"");
            break;
        case '\\':
            to.append("\\\\");
            break;
        case '\n':
            to.append("\\n");
            break;
        case '\r':
            to.append("\\r");
            break;
        case '\t':
            to.append("\\t");
            break;
        default:
            to.append("\\u00");
            to.push_back(digits[byte >> 4]);
            to.push_back(digits[byte & 15]);
    }
}

}  // namespace

void append_string(std::string& to, std::string_view text) {
    to.push_back('"');
    std::size_t from = 0;  // of the run that is copied as it is
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
        to.append(text.substr(from, i - from));
        byte >= 0x80 ? void(to.append("\xef\xbf\xbd")) : append_escape(to, byte);
        from = ++i;
    }
    to.append(text.substr(from));
    to.push_back('"');
}

}  // namespace latchkey::api
