// Store time: the one time by which every process of a store evaluates and dates its records: the
// state of a key, the end of an overlap, how long an outcome is kept under an Idempotency-Key, when
// an event was received. Workers, transactions and commands all take it from here. It is
//
//     max(the machine's clock, the time of the last write, the latest that this process has used)
//
// The time of the last write is in the store, so store time never goes back: not with the clock,
// not across restarts, not from one process to another. While the clock is behind, store time goes
// on by the monotonic clock, at half its pace, until the clock has caught up: one node of a cluster
// whose clock was ahead for a moment would stop the time of all. So no key lives longer than by the
// clock. An idle server writes every ten minutes, and when it stops.
//
// A clock that is far ahead would stay in the store for ever, so there are two bounds, each
// limits::clock_step_ms_max:
//   - If the clock of a running process leaps ahead of the monotonic clock by more, it is not
//     trusted: store time continues by the monotonic clock until the clock comes back or the
//     process restarts. Time in which the machine was suspended (CLOCK_BOOTTIME) is not a leap. A
//     command beside a running server begins at the last write instead of at the clock, so both
//     agree.
//   - A store whose last write lies further ahead of the clock is not opened (environment::open);
//     time_reset.hpp repairs it.
// Removal by age has a guard of its own, transaction::age_time, which works across restarts.
//
// The clock itself (base::instant::clock) is used for the Date field, the access log and timestamps
// that senders signed; the monotonic clock for rate limits, deadlines and failed authentications.
//
// One object per environment; any thread after `begin`.
#pragma once

#include <atomic>

#include "base/clock.hpp"

namespace latchkey::store {

class timekeeper {
  public:
    // `suspended` as base::read_suspended; tests pass their own.
    explicit timekeeper(base::mono_ns (*suspended)() = base::read_suspended)
        : suspended_(suspended) {}

    // Starts at `trusted`, which is the reading's clock itself unless that is doubted.
    void begin(base::instant const& reading, base::wall_ms trusted);
    // Store time at a reading of the clocks; `last_write` is the time of the store's last write in
    // the caller's version.
    base::wall_ms time_at(base::instant const& reading, base::wall_ms last_write);
    // How far a clock that is not trusted is ahead of store time; 0: it is trusted.
    base::wall_ms doubted() const { return doubted_.load(std::memory_order_relaxed); }

  private:
    void trust(base::instant const& reading, base::wall_ms wall);
    base::wall_ms judge_leap(base::instant const& reading, base::wall_ms floor);
    base::wall_ms wait_for_clock(base::mono_ns now, base::wall_ms latest) const;

    base::mono_ns (*suspended_)();
    // Read by every worker in every turn and rarely written, so sharing a cache line is cheap.
    std::atomic<base::wall_ms> offset_{0};        // the trusted time minus the monotonic clock
    std::atomic<base::mono_ns> suspended_at_{0};  // the value of `suspended_` at that moment
    std::atomic<base::wall_ms> doubted_{0};
    std::atomic<base::wall_ms> latest_{0};
    std::atomic<base::mono_ns> latest_at_{0};  // the monotonic clock when `latest_` was reached
};

}  // namespace latchkey::store
