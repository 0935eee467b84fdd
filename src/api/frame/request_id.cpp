#include "api/frame/request_id.hpp"

#include <algorithm>

#include "base/base62.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view id_prefix = "req_";
constexpr std::size_t id_digits = 22;

// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
std::uint64_t next(std::uint64_t& state) {
    auto z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

bool is_request_id(std::string_view text) {
    if (text.size() < 8 || text.size() > 64) return false;
    return std::all_of(text.begin(), text.end(), [](unsigned char byte) {
        return base::is_base62(byte) || byte == '_' || byte == '-';
    });
}

bool is_hex(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

void request_id::take(std::optional<std::string_view> client_id, std::uint64_t& random) {
    if (client_id && is_request_id(*client_id)) {
        size_ = static_cast<std::uint8_t>(client_id->size());
        std::copy(client_id->begin(), client_id->end(), text_.begin());
        return;
    }
    auto* const digits_begin = std::copy(id_prefix.begin(), id_prefix.end(), text_.begin());
    base::put_base62_fraction(next(random), digits_begin, id_digits / 2);
    base::put_base62_fraction(next(random), digits_begin + id_digits / 2, id_digits / 2);
    size_ = static_cast<std::uint8_t>(id_prefix.size() + id_digits);
}

void trace_id::take(std::optional<std::string_view> traceparent) {
    size_ = 0;
    is_sampled_ = false;
    if (!traceparent) return;
    auto const& text = *traceparent;
    // version "-" trace-id "-" parent-id "-" flags; a later version may append more.
    bool const well_formed = text.size() >= 55 && text[2] == '-' && text[35] == '-' &&
                             text[52] == '-' && is_hex(text.substr(0, 2)) &&
                             is_hex(text.substr(3, 32)) && is_hex(text.substr(36, 16)) &&
                             is_hex(text.substr(53, 2)) && !text.starts_with("ff");
    if (!well_formed ||
        (text.starts_with("00") ? text.size() != 55 : text.size() > 55 && text[55] != '-'))
        return;
    if (text.substr(3, 32).find_first_not_of('0') == text.npos) return;
    if (text.substr(36, 16).find_first_not_of('0') == text.npos) return;
    std::copy_n(text.begin() + 3, 32, text_.begin());
    std::copy_n(text.begin() + 36, 16, parent_.begin());
    size_ = 32;
    // The lowest bit of the flags; further ones mean nothing here.
    auto const digit = text[54];
    is_sampled_ = ((digit <= '9' ? digit - '0' : digit - 'a' + 10) & 1) != 0;
}

}  // namespace latchkey::api
