// The clocks of a machine: minutes apart from those of others, and at a rate of their own. The code
// under test reads those of the machine whose turn it is.
//
//     on_machine const here(node.machine);
//     … cluster::virtual_time{machine::current_boot, machine::current_clock, …} …
#pragma once

#include "base/time_units.hpp"
#include "cluster/lease.hpp"
#include "dice.hpp"

namespace latchkey::simulation {

using real_ns = std::int64_t;  // the time of the run, which no code under test sees

class machine {
  public:
    // `now` moves.
    machine(real_ns const& now, dice& dice);

    real_ns now() const { return *now_; }
    cluster::boot_ns boot() const;
    base::wall_ms clock() const { return clock_at_boot_ + boot() / base::millisecond; }
    // When its clock, if nobody sets it, shows that.
    real_ns real_time_of(base::wall_ms clock) const;
    // Somebody sets its clock, by some minutes.
    void set_clock(dice& dice);

    static cluster::boot_ns current_boot() { return current_->boot(); }
    static base::wall_ms current_clock() { return current_->clock(); }

  private:
    friend class on_machine;
    inline static machine const* current_ = nullptr;

    real_ns const* now_;
    cluster::boot_ns first_boot_;
    std::int64_t millionths_;  // by which its clocks are fast
    base::wall_ms clock_at_boot_;
};

class on_machine {
  public:
    explicit on_machine(machine const& other) : previous_(machine::current_) {
        machine::current_ = &other;
    }
    ~on_machine() { machine::current_ = previous_; }
    on_machine(on_machine const&) = delete;
    on_machine& operator=(on_machine const&) = delete;

  private:
    machine const* previous_;
};

}  // namespace latchkey::simulation
