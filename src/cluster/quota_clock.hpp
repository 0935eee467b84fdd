// The cluster's clock as a node estimates it: what buckets in the engine are measured with. It is
// no machine's time of day, and the engine's clock has no part in it.
//
// Each node tells its estimate with each ask, and takes over a later one of another: what was told
// before an answer came is past when it comes. So an estimate runs with the clock of the machine
// (CLOCK_BOOTTIME) and is raised only to what another would have said: the latest of all estimates
// gains nothing on real time. An estimate may lag behind the latest, but by no more than `lag_max`:
// a node whose last confirmed one is older than `quota_validity` takes what the engine has, which
// is earlier, before it asks again. Tokens are charged for so much longer.
//
// Values; one thread; no errors.
#pragma once

#include <cstdint>

#include "cluster/lease.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::cluster {

class quota_clock {
  public:
    bool is_valid(boot_ns now) const;
    replicate::protocol::cluster_ns estimate(boot_ns now) const { return now + offset_; }
    boot_ns local(replicate::protocol::cluster_ns time) const { return time - offset_; }
    base::mono_ns lag_max() const;

    // The engine's latest clock, from an answer to what was sent at `start`: anew.
    void adopt(replicate::protocol::cluster_ns latest, boot_ns start, boot_ns now);
    // The same, when the estimate of `start` was told with it.
    void confirm(replicate::protocol::cluster_ns latest, boot_ns start, boot_ns now);

  private:
    std::int64_t offset_ = 0;
    boot_ns confirmed_ = 0;  // the estimate of this time has been told; 0: none
    base::mono_ns round_trip_ = 0;
};

}  // namespace latchkey::cluster
