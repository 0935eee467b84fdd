#include "api/frame/cursor.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t no_digit = 0xff;
constexpr auto values = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(no_digit);
    for (std::size_t i = 0; i < base64_digits.size(); ++i)
        table[static_cast<unsigned char>(base64_digits[i])] = static_cast<std::uint8_t>(i);
    return table;
}();

using content = std::array<char, sizeof(model::id) + auth::mac::tag_bytes>;
// No padding bits, so that no two texts are one cursor.
static_assert(content{}.size() * 4 == cursor_text{}.size() * 3 && content{}.size() % 3 == 0);

cursor_text encode(content const& bytes) {
    cursor_text text;
    auto* next = text.data();
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t three = 0;
        for (std::size_t j = 0; j < 3; ++j)
            three = three << 8 | static_cast<unsigned char>(bytes[i + j]);
        for (int shift = 18; shift >= 0; shift -= 6) *next++ = base64_digits[three >> shift & 63];
    }
    return text;
}

std::optional<content> decode(std::string_view text) {
    if (text.size() != cursor_text{}.size()) return std::nullopt;
    content bytes;
    auto* next = bytes.data();
    for (std::size_t i = 0; i < text.size(); i += 4) {
        std::uint32_t three = 0;
        for (std::size_t j = 0; j < 4; ++j) {
            auto const value = values[static_cast<unsigned char>(text[i + j])];
            if (value == no_digit) return std::nullopt;
            three = three << 6 | value;
        }
        for (int shift = 16; shift >= 0; shift -= 8) *next++ = static_cast<char>(three >> shift);
    }
    return bytes;
}

// The input of the MAC: the id, then the name of the list.
struct authenticated_text {
    authenticated_text(model::id last, list_name const& list) {
        auto* const name = base::put(bytes.data(), last);
        size = static_cast<std::size_t>(std::ranges::copy(list.bytes(), name).out - bytes.data());
    }
    operator std::string_view() const { return {bytes.data(), size}; }  // NOLINT: meant to convert

    std::array<char, sizeof(model::id) + sizeof(list_name)> bytes;
    std::size_t size;
};

}  // namespace

void list_name::add(std::string_view member, std::string_view value) {
    // Values that were not refused fit: all filters of a list at their bounds take 317 bytes.
    base::check(size_ + 4 + member.size() + value.size() <= bytes_.size(),
                "the name of a list is longer than its buffer");
    auto* next = bytes_.data() + size_;
    for (auto const text : {member, value}) {
        next = base::put(next, static_cast<std::uint16_t>(text.size()));
        next = std::ranges::copy(text, next).out;
    }
    size_ = static_cast<std::size_t>(next - bytes_.data());
}

void list_name::add(std::string_view member, std::int64_t value) {
    char bytes[sizeof value];
    base::put(bytes, value);
    add(member, std::string_view(bytes, sizeof bytes));
}

cursor_text make_cursor(auth::mac const& mac, list_name const& list, model::id last) {
    content bytes;
    auto* const mark = base::put(bytes.data(), last);
    std::ranges::copy(mac.compute(authenticated_text(last, list)), mark);
    return encode(bytes);
}

std::optional<model::id> read_cursor(auth::mac const& mac, list_name const& list,
                                     std::string_view text) {
    auto const bytes = decode(text);
    if (!bytes) return std::nullopt;
    auto const last = base::get<model::id>(bytes->data());
    std::string_view const mark(bytes->data() + sizeof last, auth::mac::tag_bytes);
    if (!mac.matches(authenticated_text(last, list), mark)) return std::nullopt;
    return last;
}

}  // namespace latchkey::api
