// Time as an argument: functions take an `instant`; only the outermost code (a worker's turn, the
// writer, a command) reads clocks. The machine's clock may be wrong and may be set back, so records
// are judged and dated by store time (store/time.hpp), which is derived from it and never
// goes back. Text is RFC 3339 in UTC with milliseconds and `Z`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace latchkey::base {

using wall_ms = std::int64_t;  // milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted
using mono_ns = std::int64_t;  // nanoseconds of CLOCK_MONOTONIC

struct instant {
    mono_ns mono = 0;
    // Store time (the machine's clock where there is no store): records are judged by it.
    wall_ms wall = 0;
    // The machine's clock, for times that others compare with their own clock: the Date field, the
    // access log, timestamps signed by senders.
    wall_ms clock = 0;
};

mono_ns read_mono();
// Both clocks of the machine; `wall` equals `clock`. Any thread.
instant read_clocks();
// Time the machine has spent suspended since boot: CLOCK_BOOTTIME - CLOCK_MONOTONIC. Any thread.
mono_ns read_suspended();

// "2026-01-02T03:04:05.678Z"
inline constexpr std::size_t timestamp_bytes = 24;
// Writes exactly timestamp_bytes; years 0000 to 9999 (others are clamped).
void format_timestamp(wall_ms time, char* output);

// RFC 3339 with any offset; a fraction is truncated to milliseconds. nullopt: not a timestamp.
std::optional<wall_ms> parse_timestamp(std::string_view text);

// "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate, RFC 9110 §5.6.7), 29 bytes.
inline constexpr std::size_t http_date_bytes = 29;
void format_http_date(wall_ms time, char* output);

// "90d", "24h", "15m", "30s" or plain seconds, in seconds; nullopt: none of these.
std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace latchkey::base
