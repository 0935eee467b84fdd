#include "wire/jwt/numeric_date.hpp"

#include <algorithm>

namespace latchkey::jwt {
namespace {

// Beyond it an exponent outweighs all digits of a token.
constexpr std::int64_t exponent_max = 1'000'000;

std::int64_t read_exponent(std::string_view digits) {
    bool const negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    std::int64_t value = 0;
    for (char const digit : digits) value = std::min(value * 10 + (digit - '0'), exponent_max);
    return negative ? -value : value;
}

}  // namespace

std::optional<numeric_date> read_numeric_date(std::string_view number) {
    bool const negative = number.starts_with('-');
    if (negative) number.remove_prefix(1);
    auto const mantissa = number.substr(0, number.find_first_of("eE"));
    auto const point = std::min(mantissa.find('.'), mantissa.size());
    // How many digits stand before the decimal point.
    auto remaining = static_cast<std::int64_t>(point);
    if (mantissa.size() < number.size())
        remaining += read_exponent(number.substr(mantissa.size() + 1));
    numeric_date date;
    for (char const digit : mantissa) {
        if (digit == '.') continue;
        if (remaining-- > 0)
            date.seconds = date.seconds * 10 + (digit - '0');
        else
            date.has_fraction |= digit != '0';
        if (date.seconds > numeric_date_max) return std::nullopt;
    }
    for (; remaining > 0 && date.seconds != 0; --remaining) {
        date.seconds *= 10;
        if (date.seconds > numeric_date_max) return std::nullopt;
    }
    if (negative && (date.seconds != 0 || date.has_fraction)) return std::nullopt;
    if (date.seconds == numeric_date_max && date.has_fraction) return std::nullopt;
    return date;
}

}  // namespace latchkey::jwt
