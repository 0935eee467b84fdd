#include "api/cursor.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t no_digit = 0xff;
constexpr auto values = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(no_digit);
    for (std::size_t i = 0; i < digits.size(); ++i)
        table[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
    return table;
}();

using content = std::array<char, sizeof(model::id) + auth::seal::mark_bytes>;
// Then every digit counts, and no two texts are one cursor.
static_assert(content{}.size() * 4 == cursor_text{}.size() * 3 && content{}.size() % 3 == 0);

cursor_text encode(content const& from) {
    cursor_text text;
    auto* at = text.data();
    for (std::size_t i = 0; i < from.size(); i += 3) {
        std::uint32_t three = 0;
        for (std::size_t j = 0; j < 3; ++j)
            three = three << 8 | static_cast<unsigned char>(from[i + j]);
        for (int shift = 18; shift >= 0; shift -= 6) *at++ = digits[three >> shift & 63];
    }
    return text;
}

std::optional<content> decode(std::string_view text) {
    if (text.size() != cursor_text{}.size()) return std::nullopt;
    content made;
    auto* at = made.data();
    for (std::size_t i = 0; i < text.size(); i += 4) {
        std::uint32_t three = 0;
        for (std::size_t j = 0; j < 4; ++j) {
            auto const value = values[static_cast<unsigned char>(text[i + j])];
            if (value == no_digit) return std::nullopt;
            three = three << 6 | value;
        }
        for (int shift = 16; shift >= 0; shift -= 8) *at++ = static_cast<char>(three >> shift);
    }
    return made;
}

// What the mark is over: the id, then the name of the list.
struct sealed_text {
    sealed_text(model::id last, list_name const& list) {
        auto* const behind = base::put(bytes.data(), last);
        size = static_cast<std::size_t>(std::ranges::copy(list.bytes(), behind).out - bytes.data());
    }
    operator std::string_view() const { return {bytes.data(), size}; }  // NOLINT: meant to convert

    std::array<char, sizeof(model::id) + sizeof(list_name)> bytes;
    std::size_t size;
};

}  // namespace

void list_name::add(std::string_view member, std::string_view value) {
    base::check(size_ + 4 + member.size() + value.size() <= bytes_.size(),
                "a name of a list beyond its bound");
    auto* at = bytes_.data() + size_;
    for (auto const text : {member, value}) {
        at = base::put(at, static_cast<std::uint16_t>(text.size()));
        at = std::ranges::copy(text, at).out;
    }
    size_ = static_cast<std::size_t>(at - bytes_.data());
}

void list_name::add(std::string_view member, std::int64_t value) {
    char bytes[sizeof value];
    base::put(bytes, value);
    add(member, std::string_view(bytes, sizeof bytes));
}

cursor_text make_cursor(auth::seal const& seal, list_name const& list, model::id last) {
    content made;
    auto* const behind = base::put(made.data(), last);
    std::ranges::copy(seal.of(sealed_text(last, list)), behind);
    return encode(made);
}

std::optional<model::id> read_cursor(auth::seal const& seal, list_name const& list,
                                     std::string_view text) {
    auto const given = decode(text);
    if (!given) return std::nullopt;
    auto const last = base::get<model::id>(given->data());
    std::string_view const mark(given->data() + sizeof last, auth::seal::mark_bytes);
    if (!seal.holds(sealed_text(last, list), mark)) return std::nullopt;
    return last;
}

}  // namespace latchkey::api
