#include "model/user.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace latchkey::model {
namespace {

constexpr std::uint8_t user_version = 1;
constexpr std::uint8_t flag_plain = 1;

bool is_letter_or_digit(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9');
}

bool is_local_part(std::string_view text) {
    static constexpr std::string_view others = ".!#$%&'*+/=?^_`{|}~-";
    return !text.empty() && std::ranges::all_of(text, [](char byte) {
        return is_letter_or_digit(byte) || others.find(byte) != others.npos;
    });
}

bool is_label(std::string_view text) {
    if (text.empty() || text.size() > 63) return false;
    if (!is_letter_or_digit(text.front()) || !is_letter_or_digit(text.back())) return false;
    return std::ranges::all_of(text,
                               [](char byte) { return is_letter_or_digit(byte) || byte == '-'; });
}

}  // namespace

user_view view_of(user const& whole) {
    return {whole.id,         whole.name,       whole.email,
            whole.created_at, whole.updated_at, is_plain(whole.name) && is_plain(whole.email)};
}

user copy_of(user_view const& view) {
    return {view.id, std::string(view.name), std::string(view.email), view.created_at,
            view.updated_at};
}

void encode(user const& whole, std::string& to) {
    to.clear();
    base::append(to, user_version);
    base::append(to, whole.created_at);
    base::append(to, whole.updated_at);
    base::append(to, is_plain(whole.name) && is_plain(whole.email) ? flag_plain : std::uint8_t{0});
    base::append_text(to, whole.name);
    base::append_text(to, whole.email);
}

std::optional<user_view> decode_user(model::id id, std::string_view bytes) {
    base::reader from(bytes);
    if (from.integer<std::uint8_t>() != user_version) return std::nullopt;
    user_view view;
    view.id = id;
    view.created_at = from.integer<base::wall_ms>();
    view.updated_at = from.integer<base::wall_ms>();
    auto const flags = from.integer<std::uint8_t>();
    view.name = from.text();
    view.email = from.text();
    view.plain = (flags & flag_plain) != 0;
    if (!from.done() || (flags & ~flag_plain) != 0) return std::nullopt;
    return view;
}

bool is_plain(std::string_view text) {
    // Eight bytes at a time: a byte is below 0x20, or equals '"' or '\', exactly when the usual
    // borrow trick sets its high bit; bytes of 0x80 and more never count.
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t highs = 0x8080808080808080;
    auto const lacks = [](std::uint64_t word) { return (word - ones) & ~word; };
    while (text.size() >= 8) {
        std::uint64_t word;
        std::memcpy(&word, text.data(), sizeof word);
        auto const low = (word - ones * 0x20) & ~word;
        if ((low | lacks(word ^ (ones * '"')) | lacks(word ^ (ones * '\\'))) & highs) return false;
        text.remove_prefix(8);
    }
    return std::ranges::all_of(text, [](char byte) {
        return static_cast<unsigned char>(byte) >= 0x20 && byte != '"' && byte != '\\';
    });
}

std::size_t points_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
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

bool is_email(std::string_view text) {
    if (text.size() > email_bytes_max) return false;
    auto const at = text.find('@');
    if (at == text.npos || !is_local_part(text.substr(0, at))) return false;
    auto domain = text.substr(at + 1);
    for (;;) {
        auto const dot = domain.find('.');
        if (!is_label(domain.substr(0, dot))) return false;
        if (dot == domain.npos) return true;
        domain.remove_prefix(dot + 1);
    }
}

std::string folded_email(std::string_view email) {
    std::string folded(email);
    for (char& byte : folded)
        if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte | 0x20);
    return folded;
}

}  // namespace latchkey::model
