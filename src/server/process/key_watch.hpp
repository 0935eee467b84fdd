// Has it told what time brings about keys (docs/api.md §16): goes over the keys, a part in each
// turn, and submits those of which something is due. The command decides, so it does no harm that
// each node of a cluster looks. The keys are read again only once one of them is due or was
// changed. Belongs to the main thread; ends after the writer.
//
//     auto const next = watch.turn(now);    // then again at that time, or when `event` is written
#pragma once

#include "base/clock.hpp"
#include "base/time_units.hpp"
#include "delivery/command_port.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::server {

class key_watch {
  public:
    // Least time between two looks at the store.
    static constexpr base::mono_ns look_interval = 5 * base::second;

    // `event`: an eventfd, which outlives it. `stagger`: at most so much longer between two looks,
    // by chance, so that nodes of a cluster do not submit the same.
    key_watch(store::environment& store, domain::writer& writer, int event,
              base::mono_ns stagger = 0)
        : snapshot_(store), port_(writer, event), stagger_(stagger) {}

    base::mono_ns turn(base::mono_ns now);

  private:
    bool hear(base::mono_ns now);
    bool begin_pass(base::mono_ns now);
    void read_part();
    void end_pass(base::mono_ns now);
    void put_off(base::mono_ns now, base::mono_ns length);

    domain::snapshot snapshot_;
    delivery::command_port port_;
    base::mono_ns stagger_;
    base::mono_ns next_turn_ = 0;
    bool is_passing_ = false;
    base::mono_ns pass_time_ = 0;  // that reading took in this pass
    model::id last_key_ = 0;       // that was read in it
    base::wall_ms next_due_ = 0;   // of the keys that were read in it, or in the last one
    std::uint64_t key_epoch_ = 0;  // as it began
    bool was_refused_ = false;
};

}  // namespace latchkey::server
