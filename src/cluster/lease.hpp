// The lease under which a node answers requests: as long as it lasts, whoever turns a key off waits
// for this node. No clocks of two machines are compared: a renewal counts from the time on this
// machine before it was asked for, and others wait longer than that on their own clocks
// (docs/decisions/cluster.md).
//
// A renewal names the head of the log after its commit: it counts once the store is there, since a
// row before it may turn something off that nobody waited for. Values; no thread of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::cluster {

using boot_ns = std::int64_t;  // nanoseconds of CLOCK_BOOTTIME, which runs while a machine sleeps

inline boot_ns read_boot() {
    return base::read_mono() + base::read_suspended();
}

class lease {
  public:
    explicit lease(base::mono_ns duration) : duration_(duration) {}

    // The renewal began after `start`, and the log's head was `head` after it.
    void renew(boot_ns start, std::uint64_t head);
    // The store has applied all rows up to `position`.
    void reach(std::uint64_t position);
    // Others stop waiting for this node: it left, or the engine has forgotten it.
    void end();

    // When it ends; 0: there is none.
    boot_ns end_time() const { return end_; }

  private:
    struct renewal {
        boot_ns end = 0;
        std::uint64_t head = 0;
    };

    base::mono_ns duration_;
    boot_ns end_ = 0;
    std::uint64_t position_ = 0;
    // Heads that the store has not reached. A later one may be lower: an engine that failed over
    // without its last rows never gets to the earlier one.
    std::vector<renewal> pending_;
};

}  // namespace latchkey::cluster
