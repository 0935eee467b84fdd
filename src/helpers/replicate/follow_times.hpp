// The times of the follow_lane. Private to it.
#pragma once

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::replicate {

// The log is asked often while rows come, and less often the longer none came.
inline constexpr base::mono_ns tail_interval_min = 2 * base::millisecond;
inline constexpr base::mono_ns tail_interval_max = 32 * base::millisecond;
inline constexpr base::mono_ns nodes_interval = base::second;
// While somebody waits for the others; after watch_time the one who waited has given up.
inline constexpr base::mono_ns watch_interval = 2 * base::millisecond;
inline constexpr base::mono_ns watch_time = 6 * base::second;
inline constexpr base::mono_ns late_watch_interval = 50 * base::millisecond;
inline constexpr base::mono_ns position_interval = base::second;
// A lease is renewed that often within its length.
inline constexpr int renewals_per_lease = 6;
inline constexpr std::uint32_t statement_ms = 4000;

inline base::mono_ns step_deadline() {
    return base::read_mono() + 5 * base::second;
}

}  // namespace latchkey::replicate
