// NumericDate (RFC 7519 §2): seconds since 1970 as a JSON number, which may have a fraction and an
// exponent. Read from its digits, because a double would round. Any thread. Private to the layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace latchkey::jwt {

// The end of the year 9999. Later dates are errors: most are milliseconds by mistake, and then a
// token would never expire.
inline constexpr std::int64_t numeric_date_max = 253'402'300'799;

struct numeric_date {
    std::int64_t seconds = 0;   // rounded down
    bool has_fraction = false;  // there is more than these seconds

    std::int64_t rounded_up() const { return seconds + (has_fraction ? 1 : 0); }
};
// `number` is a number by the grammar of JSON. Empty: it is negative or after the year 9999.
std::optional<numeric_date> read_numeric_date(std::string_view number);

}  // namespace latchkey::jwt
