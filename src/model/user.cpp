#include "model/user.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "model/utf8.hpp"

namespace latchkey::model {
namespace {

constexpr std::uint8_t user_version = 1;
constexpr std::uint8_t user_flag_plain = 1;

bool is_letter_or_digit(char byte) {
    return base::is_letter(byte) || base::is_digit(byte);
}

bool is_local_part(std::string_view text) {
    static constexpr std::string_view symbols = ".!#$%&'*+/=?^_`{|}~-";
    return !text.empty() && std::ranges::all_of(text, [](char byte) {
        return is_letter_or_digit(byte) || symbols.find(byte) != symbols.npos;
    });
}

bool is_label(std::string_view text) {
    if (text.empty() || text.size() > 63) return false;
    if (!is_letter_or_digit(text.front()) || !is_letter_or_digit(text.back())) return false;
    return std::ranges::all_of(text,
                               [](char byte) { return is_letter_or_digit(byte) || byte == '-'; });
}

}  // namespace

user_view view_of(user const& record) {
    return {record.id,         record.name,       record.email,
            record.created_at, record.updated_at, is_plain(record.name) && is_plain(record.email)};
}

user copy_of(user_view const& view) {
    return {view.id, std::string(view.name), std::string(view.email), view.created_at,
            view.updated_at};
}

void encode(user const& record, std::string& output) {
    output.clear();
    base::append(output, user_version);
    base::append(output, record.created_at);
    base::append(output, record.updated_at);
    base::append(output, is_plain(record.name) && is_plain(record.email) ? user_flag_plain
                                                                         : std::uint8_t{0});
    base::append_text(output, record.name);
    base::append_text(output, record.email);
}

std::optional<user_view> decode_user(model::id id, std::string_view bytes) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != user_version) return std::nullopt;
    user_view view;
    view.id = id;
    view.created_at = input.integer<base::wall_ms>();
    view.updated_at = input.integer<base::wall_ms>();
    auto const flags = input.integer<std::uint8_t>();
    view.name = input.text();
    view.email = input.text();
    view.plain = (flags & user_flag_plain) != 0;
    if (!input.done() || (flags & ~user_flag_plain) != 0) return std::nullopt;
    return view;
}

bool is_email(std::string_view text) {
    if (text.size() > email_bytes_max) return false;
    auto const separator = text.find('@');
    if (separator == text.npos || !is_local_part(text.substr(0, separator))) return false;
    auto domain = text.substr(separator + 1);
    for (;;) {
        auto const dot = domain.find('.');
        if (!is_label(domain.substr(0, dot))) return false;
        if (dot == domain.npos) return true;
        domain.remove_prefix(dot + 1);
    }
}

std::string folded_email(std::string_view email) {
    return base::to_lower(email);
}

}  // namespace latchkey::model
