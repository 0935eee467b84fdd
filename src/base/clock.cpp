#include "base/clock.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>

namespace latchkey::base {
namespace {

constexpr wall_ms earliest = -62'167'219'200'000;  // 0000-01-01
constexpr wall_ms latest = 253'402'300'799'999;    // 9999-12-31T23:59:59.999

std::atomic<wall_ms> highest_wall{0};

struct civil {
    int year;
    unsigned month, day;
    int hour, minute, second, milli;
    unsigned weekday;  // 0: Sunday
};

civil civil_of(wall_ms time) {
    using namespace std::chrono;
    time = std::clamp(time, earliest, latest);
    auto const since = milliseconds(time);
    auto const date = floor<days>(sys_time<milliseconds>(since));
    year_month_day const ymd(date);
    auto const rest = static_cast<int>((sys_time<milliseconds>(since) - date).count());
    return {int(ymd.year()),  unsigned(ymd.month()),     unsigned(ymd.day()),
            rest / 3'600'000, rest / 60'000 % 60,        rest / 1000 % 60,
            rest % 1000,      weekday(date).c_encoding()};
}

constexpr auto digit_pairs = [] {
    std::array<char, 200> pairs{};
    for (std::size_t i = 0; i < 100; ++i) {
        pairs[2 * i] = static_cast<char>('0' + i / 10);
        pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
}();

void two_digits(char* at, unsigned value) {
    std::memcpy(at, &digit_pairs[std::size_t{2} * value], 2);
}

char* digits(char* at, int value, int count) {
    for (int i = count - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
    return at + count;
}

struct known_time {
    wall_ms time = INT64_MIN;
    char text[timestamp_bytes] = {};
};

void write_timestamp(wall_ms time, char* to) {
    using namespace std::chrono;
    auto const date = floor<days>(sys_time<milliseconds>(milliseconds(time)));
    year_month_day const ymd(date);
    auto const year = static_cast<unsigned>(int(ymd.year()));
    auto const rest =
        static_cast<unsigned>((milliseconds(time) - date.time_since_epoch()).count());
    unsigned const seconds = rest / 1000, millis = rest % 1000;
    std::memcpy(to, "0000-00-00T00:00:00.000Z", timestamp_bytes);
    two_digits(to, year / 100);
    two_digits(to + 2, year % 100);
    two_digits(to + 5, unsigned(ymd.month()));
    two_digits(to + 8, unsigned(ymd.day()));
    two_digits(to + 11, seconds / 3600);
    two_digits(to + 14, seconds / 60 % 60);
    two_digits(to + 17, seconds % 60);
    to[20] = static_cast<char>('0' + millis / 100);
    two_digits(to + 21, millis % 100);
}

// Takes `count` digits from the front; -1 when they are not there.
int take_digits(std::string_view& text, std::size_t count) {
    if (text.size() < count) return -1;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view& text, std::string_view any_of) {
    if (text.empty() || any_of.find(text.front()) == any_of.npos) return false;
    text.remove_prefix(1);
    return true;
}

// The fraction behind the seconds, in milliseconds; -1 when the dot has no digit behind it.
int take_fraction(std::string_view& text) {
    if (!take(text, ".")) return 0;
    int milli = 0, seen = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9';
         ++seen, text.remove_prefix(1))
        if (seen < 3) milli = milli * 10 + (text.front() - '0');
    if (seen == 0) return -1;
    for (; seen < 3; ++seen) milli *= 10;
    return milli;
}

// "Z" or "+hh:mm", in minutes east.
std::optional<int> take_offset(std::string_view& text) {
    if (take(text, "Zz")) return 0;
    int const sign = text.starts_with('-') ? -1 : 1;
    if (!take(text, "+-")) return std::nullopt;
    int const hours = take_digits(text, 2);
    if (hours < 0 || hours > 23 || !take(text, ":")) return std::nullopt;
    int const minutes = take_digits(text, 2);
    if (minutes < 0 || minutes > 59) return std::nullopt;
    return sign * (hours * 60 + minutes);
}

}  // namespace

mono_ns read_mono() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<mono_ns>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

instant read_clocks() {
    timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    auto now = static_cast<wall_ms>(wall.tv_sec) * 1000 + wall.tv_nsec / 1'000'000;
    auto highest = highest_wall.load(std::memory_order_relaxed);
    while (now > highest &&
           !highest_wall.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
    }
    return {read_mono(), std::max(now, highest)};
}

void format_timestamp(wall_ms time, char* to) {
    // A record that was never changed shows one time twice, the access log that of a whole burst:
    // the last ones are remembered per thread.
    static thread_local constinit std::array<known_time, 16> known{};
    time = std::clamp(time, earliest, latest);
    auto& here = known[static_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15 >> 60];
    if (time != here.time) {
        write_timestamp(time, here.text);
        here.time = time;
    }
    std::memcpy(to, here.text, timestamp_bytes);
}

std::optional<wall_ms> parse_timestamp(std::string_view text) {
    using namespace std::chrono;
    int const year = take_digits(text, 4);
    if (year < 0 || !take(text, "-")) return std::nullopt;
    int const month = take_digits(text, 2);
    if (month < 0 || !take(text, "-")) return std::nullopt;
    int const day = take_digits(text, 2);
    if (day < 0 || !take(text, "Tt")) return std::nullopt;
    int const hour = take_digits(text, 2);
    if (hour < 0 || hour > 23 || !take(text, ":")) return std::nullopt;
    int const minute = take_digits(text, 2);
    if (minute < 0 || minute > 59 || !take(text, ":")) return std::nullopt;
    int const second = take_digits(text, 2);
    if (second < 0 || second > 60) return std::nullopt;
    int const milli = take_fraction(text);
    if (milli < 0) return std::nullopt;
    auto const offset = take_offset(text);
    year_month_day const date(std::chrono::year(year),
                              std::chrono::month(static_cast<unsigned>(month)),
                              std::chrono::day(static_cast<unsigned>(day)));
    if (!offset || !text.empty() || !date.ok()) return std::nullopt;
    auto const since = sys_days(date).time_since_epoch() + hours(hour) + minutes(minute - *offset) +
                       seconds(second);
    return duration_cast<milliseconds>(since).count() + milli;
}

void format_http_date(wall_ms time, char* to) {
    static constexpr char days[] = "SunMonTueWedThuFriSat";
    static constexpr char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    civil const at = civil_of(time);
    std::memcpy(to, days + at.weekday * 3, 3);
    std::memcpy(to + 3, ", ", 2);
    digits(to + 5, static_cast<int>(at.day), 2);
    to[7] = ' ';
    std::memcpy(to + 8, months + (at.month - 1) * 3, 3);
    to[11] = ' ';
    digits(to + 12, at.year, 4);
    to[16] = ' ';
    digits(to + 17, at.hour, 2);
    to[19] = ':';
    digits(to + 20, at.minute, 2);
    to[22] = ':';
    digits(to + 23, at.second, 2);
    std::memcpy(to + 25, " GMT", 4);
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
    std::int64_t value = 0;
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || value < 0) return std::nullopt;
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
