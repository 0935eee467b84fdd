// Decimal digits by multiplication: the value is a fixed-point fraction, from whose integer part
// each multiplication by 100 takes the next two digits (Terje Mathisen's method). std::to_chars
// counts the digits first: a RateLimit header of two limits takes 325 instructions instead of 394
// (callgrind, bench/micro/request_bench.cpp). Pure, any thread.
//
//     char text[base::number_bytes_max];
//     std::string_view const digits(text, base::put_decimal(text, value));
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace latchkey::base {

// The most bytes that a decimal number takes, with its sign.
inline constexpr std::size_t number_bytes_max = 20;

// "00" to "99".
inline constexpr auto digit_pairs = [] {
    std::array<char, 200> pairs{};
    for (std::size_t i = 0; i < 100; ++i) {
        pairs[2 * i] = static_cast<char>('0' + i / 10);
        pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
}();

// Exactly two digits; `value` is below 100.
inline char* put_digit_pair(char* output, std::uint64_t value) {
    std::memcpy(output, &digit_pairs[2 * value], 2);
    return output + 2;
}

// `fraction`: 32 bits before and 32 after the point. Writes `pairs` pairs, the first of which has
// no leading zero unless `padded`.
template <int pairs, bool padded>
inline char* put_fraction(char* output, std::uint64_t fraction) {
    auto const first = fraction >> 32;
    if (padded || first >= 10)
        output = put_digit_pair(output, first);
    else
        *output++ = static_cast<char>('0' + first);
    for (int i = 1; i < pairs; ++i) {
        fraction = (fraction & 0xffff'ffff) * 100;
        output = put_digit_pair(output, fraction >> 32);
    }
    return output;
}

// Writes at most number_bytes_max bytes and returns their end. The factors are 2^n / 100^k, rounded
// up, and what a shift cuts off is made up for: the fraction is never too small, and too large by
// less than one unit of the last digit.
inline char* put_decimal(char* output, std::uint64_t value) {
    if (value < 100) return put_fraction<1, false>(output, value << 32);
    if (value < 10'000) return put_fraction<2, false>(output, value * 42'949'673);
    if (value < 1'000'000) return put_fraction<3, false>(output, value * 429'497);
    if (value < 100'000'000)
        return put_fraction<4, false>(output, ((value * 281'474'978) >> 16) + 1);
    output = put_decimal(output, value / 100'000'000);
    return put_fraction<4, true>(output, (((value % 100'000'000) * 281'474'978) >> 16) + 1);
}

inline char* put_decimal(char* output, std::int64_t value) {
    if (value >= 0) return put_decimal(output, static_cast<std::uint64_t>(value));
    *output++ = '-';
    return put_decimal(output, -static_cast<std::uint64_t>(value));
}

}  // namespace latchkey::base
