// Units of durations on the monotonic clock, in nanoseconds.
#pragma once

#include <cstdint>

namespace latchkey::base {

inline constexpr std::int64_t microsecond = 1'000;
inline constexpr std::int64_t millisecond = 1'000 * microsecond;
inline constexpr std::int64_t second = 1'000 * millisecond;

// The time `seconds`, as settings count them, after `start`.
constexpr std::int64_t after(std::int64_t start, std::uint64_t seconds) {
    return start + static_cast<std::int64_t>(seconds) * second;
}

}  // namespace latchkey::base
