#include "store/time.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/time_units.hpp"

namespace latchkey::store {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
// A smaller difference between the clocks is drift or rounding, and is ignored.
constexpr base::wall_ms drift_ms_min = 1000;
// In which store time goes on by a millisecond while the clock is behind.
constexpr base::mono_ns waiting_step = 2 * base::millisecond;

}  // namespace

void timekeeper::begin(base::instant const& reading, base::wall_ms trusted) {
    trust(reading, trusted);
    latest_.store(trusted, relaxed);
    latest_at_.store(reading.mono, relaxed);
}

base::wall_ms timekeeper::time_at(base::instant const& reading, base::wall_ms last_write) {
    auto latest = latest_.load(relaxed);
    auto const floor = std::max(latest, last_write);
    auto const drift = reading.clock - reading.mono / base::millisecond - offset_.load(relaxed);
    auto wall = reading.clock;
    if (drift > base::limits::clock_step_ms_max) [[unlikely]]
        wall = judge_leap(reading, floor);
    else if (drift >= drift_ms_min || drift <= -drift_ms_min || doubted() != 0) [[unlikely]]
        trust(reading, reading.clock);
    if (wall < floor) [[unlikely]]
        wall = std::max(floor, wait_for_clock(reading.mono, latest));
    while (wall > latest)
        if (latest_.compare_exchange_weak(latest, wall, relaxed)) {
            latest_at_.store(reading.mono, relaxed);
            break;
        }
    return wall;
}

// Another worker may have reached `latest` and not told yet when: a step too many then.
base::wall_ms timekeeper::wait_for_clock(base::mono_ns now, base::wall_ms latest) const {
    auto const elapsed = now - latest_at_.load(relaxed);
    return latest + std::max<base::mono_ns>(elapsed, 0) / waiting_step;
}

void timekeeper::trust(base::instant const& reading, base::wall_ms wall) {
    suspended_at_.store(suspended_(), relaxed);
    offset_.store(wall - reading.mono / base::millisecond, relaxed);
    doubted_.store(0, relaxed);
}

// The clock is further ahead than the monotonic clock explains. It is no leap if the machine was
// suspended, if the clock was set back and then forth again, or if another process has written at
// that time.
base::wall_ms timekeeper::judge_leap(base::instant const& reading, base::wall_ms floor) {
    auto const suspended = (suspended_() - suspended_at_.load(relaxed)) / base::millisecond;
    auto const elapsed = reading.mono / base::millisecond + offset_.load(relaxed) + suspended;
    auto const reach = std::max(elapsed, floor);
    if (reading.clock - reach <= base::limits::clock_step_ms_max) {
        trust(reading, reading.clock);
        return reading.clock;
    }
    doubted_.store(reading.clock - reach, relaxed);
    return reach;
}

}  // namespace latchkey::store
