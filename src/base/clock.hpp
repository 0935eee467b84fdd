// Time as an argument: whoever needs it is given an `instant`; only the rim of the program (a
// worker's turn, the writer, a command) reads clocks. Wall time never goes back within a process,
// so that an expired key does not revive. Text is RFC 3339 UTC with milliseconds and `Z`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace latchkey::base {

using wall_ms = std::int64_t;  // milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted
using mono_ns = std::int64_t;  // nanoseconds of CLOCK_MONOTONIC

struct instant {
    mono_ns mono = 0;
    wall_ms wall = 0;
};

mono_ns read_mono();
// Both clocks; the wall part is the highest any thread of the process has seen. Any thread.
instant read_clocks();

// "2026-01-02T03:04:05.678Z"
inline constexpr std::size_t timestamp_bytes = 24;
// Writes exactly timestamp_bytes at `to`; years 0000 to 9999 (others are clamped).
void format_timestamp(wall_ms time, char* to);

// RFC 3339, any offset, fraction of any length cut to milliseconds; nullopt when it is not one.
std::optional<wall_ms> parse_timestamp(std::string_view text);

// "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate, RFC 9110 §5.6.7), 29 bytes.
inline constexpr std::size_t http_date_bytes = 29;
void format_http_date(wall_ms time, char* to);

// "90d", "24h", "15m", "30s" or plain seconds, to seconds; nullopt when it is neither.
std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace latchkey::base
