// How much of a turn is used up. A turn of a worker ends with so much time, or so many bytes of
// answers, whatever number of requests that is; what is left goes on in the next one, after other
// connections. Of each kind of work a turn does at least one piece, so that none waits for ever.
//
//     budget.begin(now);
//     budget.allow(1, 2);             // of the turn, for what is done next
//     while (has_more()) { run_one(); if (budget.is_spent()) break; }
//
// Belongs to the worker's thread. The clock is read once for many small pieces, without a system
// call; whoever has read it anyway says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "base/limits.hpp"

namespace latchkey::server {

class turn_budget {
  public:
    explicit turn_budget(base::mono_ns (*clock)() = base::read_mono) : clock_(clock) {}

    void begin(base::mono_ns now) {
        start_ = time_ = now;
        bytes_ = 0;
        allow(1, 1);
    }
    // From now on it is spent with `part` of `parts` of the turn.
    void allow(unsigned part, unsigned parts) {
        time_max_ = base::limits::turn_ns_max * part / parts;
        bytes_max_ = base::limits::turn_answer_bytes_max * part / parts;
    }
    void add_answer(std::size_t bytes) { bytes_ += bytes; }
    // The time is at least `now`.
    void note_time(base::mono_ns now) {
        if (now > time_) time_ = now;
    }
    // To be called after work that may have taken long.
    void read_clock() {
        time_ = clock_();
        piece_count_ = 0;
    }
    // Asked after each piece of work.
    bool is_spent() {
        if (++piece_count_ == pieces_per_reading) read_clock();
        return time_ - start_ >= time_max_ || bytes_ >= bytes_max_;
    }

  private:
    static constexpr unsigned pieces_per_reading = 16;

    base::mono_ns (*clock_)();
    base::mono_ns start_ = 0, time_ = 0;
    base::mono_ns time_max_ = base::limits::turn_ns_max;
    std::size_t bytes_ = 0;
    std::size_t bytes_max_ = base::limits::turn_answer_bytes_max;
    unsigned piece_count_ = 0;
};

}  // namespace latchkey::server
