// Dates are computed by <chrono>'s calendar and written digit by digit into fixed places; parsers
// consume their text from the front, one element a call. Timestamps are memoised in 16 entries per
// thread, found by a multiplicative hash, since the calendar's divisions cost more than the rest.
#include "base/clock.hpp"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include "base/decimal.hpp"
#include "base/time_units.hpp"

namespace latchkey::base {
namespace {

constexpr wall_ms earliest = -62'167'219'200'000;  // 0000-01-01
constexpr wall_ms latest = 253'402'300'799'999;    // 9999-12-31T23:59:59.999

struct civil {
    int year;
    unsigned month, day;
    int hour, minute, second, milli;
    unsigned weekday;  // 0: Sunday
};

civil civil_of(wall_ms time) {
    using namespace std::chrono;
    time = std::clamp(time, earliest, latest);
    auto const elapsed = milliseconds(time);
    auto const date = floor<days>(sys_time<milliseconds>(elapsed));
    year_month_day const ymd(date);
    auto const rest_ms = static_cast<int>((sys_time<milliseconds>(elapsed) - date).count());
    return {int(ymd.year()),     unsigned(ymd.month()),     unsigned(ymd.day()),
            rest_ms / 3'600'000, rest_ms / 60'000 % 60,     rest_ms / 1000 % 60,
            rest_ms % 1000,      weekday(date).c_encoding()};
}

char* put_digits(char* output, int value, int count) {
    for (int i = count - 1; i >= 0; --i, value /= 10)
        output[i] = static_cast<char>('0' + value % 10);
    return output + count;
}

struct cached_timestamp {
    wall_ms time = INT64_MIN;
    char text[timestamp_bytes] = {};
};

void write_timestamp(wall_ms time, char* output) {
    using namespace std::chrono;
    auto const date = floor<days>(sys_time<milliseconds>(milliseconds(time)));
    year_month_day const ymd(date);
    auto const year = static_cast<unsigned>(int(ymd.year()));
    auto const rest = static_cast<unsigned>((milliseconds(time) - date.time_since_epoch()).count());
    unsigned const seconds = rest / 1000, millis = rest % 1000;
    std::memcpy(output, "0000-00-00T00:00:00.000Z", timestamp_bytes);
    put_digit_pair(output, static_cast<std::uint64_t>(year / 100));
    put_digit_pair(output + 2, static_cast<std::uint64_t>(year % 100));
    put_digit_pair(output + 5, unsigned(ymd.month()));
    put_digit_pair(output + 8, unsigned(ymd.day()));
    put_digit_pair(output + 11, static_cast<std::uint64_t>(seconds / 3600));
    put_digit_pair(output + 14, static_cast<std::uint64_t>(seconds / 60 % 60));
    put_digit_pair(output + 17, static_cast<std::uint64_t>(seconds % 60));
    output[20] = static_cast<char>('0' + millis / 100);
    put_digit_pair(output + 21, static_cast<std::uint64_t>(millis % 100));
}

// Consumes `count` digits; -1 when the text does not begin with so many.
int read_digits(std::string_view& text, std::size_t count) {
    if (text.size() < count) return -1;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool skip_any(std::string_view& text, std::string_view characters) {
    if (text.empty() || characters.find(text.front()) == characters.npos) return false;
    text.remove_prefix(1);
    return true;
}

// Consumes an optional fraction of a second, in milliseconds; -1 for a dot without a digit.
int read_fraction(std::string_view& text) {
    if (!skip_any(text, ".")) return 0;
    int milli = 0, digits = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9';
         ++digits, text.remove_prefix(1))
        if (digits < 3) milli = milli * 10 + (text.front() - '0');
    if (digits == 0) return -1;
    for (; digits < 3; ++digits) milli *= 10;
    return milli;
}

// Consumes "Z" or "+hh:mm": minutes east of UTC.
std::optional<int> read_offset(std::string_view& text) {
    if (skip_any(text, "Zz")) return 0;
    int const sign = text.starts_with('-') ? -1 : 1;
    if (!skip_any(text, "+-")) return std::nullopt;
    int const hours = read_digits(text, 2);
    if (hours < 0 || hours > 23 || !skip_any(text, ":")) return std::nullopt;
    int const minutes = read_digits(text, 2);
    if (minutes < 0 || minutes > 59) return std::nullopt;
    return sign * (hours * 60 + minutes);
}

mono_ns read_ns(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<mono_ns>(now.tv_sec) * second + now.tv_nsec;
}

}  // namespace

mono_ns read_mono() {
    return read_ns(CLOCK_MONOTONIC);
}

mono_ns read_suspended() {
    auto const mono = read_mono();
    return std::max<mono_ns>(read_ns(CLOCK_BOOTTIME) - mono, 0);
}

instant read_clocks() {
    auto const wall = read_ns(CLOCK_REALTIME) / millisecond;
    return {read_mono(), wall, wall};
}

void format_timestamp(wall_ms time, char* output) {
    // Memoisation, 16 entries per thread: a record that was never changed shows one time twice, and
    // the access log writes the same time for a whole burst.
    static thread_local constinit std::array<cached_timestamp, 16> cache{};
    time = std::clamp(time, earliest, latest);
    auto& entry = cache[static_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15 >> 60];
    if (time != entry.time) {
        write_timestamp(time, entry.text);
        entry.time = time;
    }
    std::memcpy(output, entry.text, timestamp_bytes);
}

// RFC 3339 §5.7: a leap second ends a month of UTC, so what follows it begins one.
static bool begins_month(std::chrono::seconds time) {
    auto const day = std::chrono::floor<std::chrono::days>(time);
    return time == day &&
           std::chrono::year_month_day(std::chrono::sys_days(day)).day() == std::chrono::day(1);
}

std::optional<wall_ms> parse_timestamp(std::string_view text) {
    using namespace std::chrono;
    int const year = read_digits(text, 4);
    if (year < 0 || !skip_any(text, "-")) return std::nullopt;
    int const month = read_digits(text, 2);
    if (month < 0 || !skip_any(text, "-")) return std::nullopt;
    int const day = read_digits(text, 2);
    if (day < 0 || !skip_any(text, "Tt")) return std::nullopt;
    int const hour = read_digits(text, 2);
    if (hour < 0 || hour > 23 || !skip_any(text, ":")) return std::nullopt;
    int const minute = read_digits(text, 2);
    if (minute < 0 || minute > 59 || !skip_any(text, ":")) return std::nullopt;
    int const second_of_minute = read_digits(text, 2);
    if (second_of_minute < 0 || second_of_minute > 60) return std::nullopt;
    int const milli = read_fraction(text);
    if (milli < 0) return std::nullopt;
    auto const offset = read_offset(text);
    year_month_day const date(std::chrono::year(year),
                              std::chrono::month(static_cast<unsigned>(month)),
                              std::chrono::day(static_cast<unsigned>(day)));
    if (!offset || !text.empty() || !date.ok()) return std::nullopt;
    auto const time = sys_days(date).time_since_epoch() + hours(hour) + minutes(minute - *offset) +
                      seconds(second_of_minute);
    if (second_of_minute == 60 && !begins_month(time)) return std::nullopt;
    return duration_cast<milliseconds>(time).count() + milli;
}

void format_http_date(wall_ms time, char* output) {
    static constexpr char days[] = "SunMonTueWedThuFriSat";
    static constexpr char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    civil const date = civil_of(time);
    std::memcpy(output, days + date.weekday * 3, 3);
    std::memcpy(output + 3, ", ", 2);
    put_digits(output + 5, static_cast<int>(date.day), 2);
    output[7] = ' ';
    std::memcpy(output + 8, months + (date.month - 1) * 3, 3);
    output[11] = ' ';
    put_digits(output + 12, date.year, 4);
    output[16] = ' ';
    put_digits(output + 17, date.hour, 2);
    output[19] = ':';
    put_digits(output + 20, date.minute, 2);
    output[22] = ':';
    put_digits(output + 23, date.second, 2);
    std::memcpy(output + 25, " GMT", 4);
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
    std::uint64_t value = 0;  // without a sign
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{}) return std::nullopt;
    std::string_view const unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    std::int64_t const factor = unit == "d"                   ? 86'400
                                : unit == "h"                 ? 3'600
                                : unit == "m"                 ? 60
                                : unit == "s" || unit.empty() ? 1
                                                              : 0;
    std::int64_t seconds = 0;
    if (factor == 0 || __builtin_mul_overflow(value, factor, &seconds)) return std::nullopt;
    return seconds;
}

}  // namespace latchkey::base
