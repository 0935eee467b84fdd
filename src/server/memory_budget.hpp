// Memory quota of a worker: heap bytes that its connections occupy, for input not yet parsed,
// responses not yet sent and bodies in progress. Above half of it each connection gets less, slow
// readers are reset and large responses need a key; above all of it the worker refuses requests.
// Belongs to the worker's thread.
//
//     memory_budget::reservation reserved(budget);   // gives back what it has when it goes
//     reserved.resize(buffer.capacity());
//     if (budget.exceeded()) … refuse …
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/limits.hpp"

namespace latchkey::server {

class memory_budget {
  public:
    class reservation {
      public:
        explicit reservation(memory_budget& budget) : budget_(budget) {}
        ~reservation() { resize(0); }
        reservation(reservation const&) = delete;
        reservation& operator=(reservation const&) = delete;

        // Never fails: the memory is in use already, and the budget decides about what follows.
        void resize(std::size_t bytes) {
            budget_.used_bytes_ = budget_.used_bytes_ - bytes_ + bytes;
            bytes_ = bytes;
        }

      private:
        memory_budget& budget_;
        std::size_t bytes_ = 0;
    };

    memory_budget() = default;
    memory_budget(memory_budget const&) = delete;
    memory_budget& operator=(memory_budget const&) = delete;

    void set_bytes_max(std::size_t bytes) { bytes_max_ = bytes; }
    std::size_t used() const { return used_bytes_; }
    bool exceeded() const { return used_bytes_ > bytes_max_; }
    bool scarce() const { return used_bytes_ > bytes_max_ / 2; }

    // A connection's share of half of the budget, when so many are open.
    std::size_t fair_share(std::size_t connections) const {
        return bytes_max_ / 2 / (connections + 1);
    }
    // So much may be unsent before a connection's next request waits. While memory is scarce it is
    // a share of a quarter of the budget, so that what all may still add stays within the rest.
    std::size_t unsent_bytes_max(std::size_t connections) const {
        if (!scarce()) return base::limits::unsent_bytes_max;
        return std::clamp(bytes_max_ / 4 / (connections + 1), base::limits::scarce_unsent_bytes_min,
                          base::limits::unsent_bytes_max);
    }

    // The most that was held at the end of a turn, since the last `reset_peak`.
    std::size_t peak() const { return peak_; }
    void note_peak() { peak_ = std::max(peak_, used_bytes_); }
    void reset_peak() { peak_ = 0; }

  private:
    std::size_t used_bytes_ = 0;
    std::size_t bytes_max_ = 0;
    std::size_t peak_ = 0;
};

}  // namespace latchkey::server
