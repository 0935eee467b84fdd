// Heartbeat of the workers: a task is posted to each, and one that has not run it for five seconds
// hangs (a disk that does not answer, a bug). Nothing waits for the replies. Used on the main
// thread alone.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::server {

class heartbeat {
  public:
    // False when a worker has not replied for too long. A worker that has replied is asked again,
    // so the result is about the time since the previous call. `workers`: pointers to what has
    // `post`, which this object outlives.
    template <typename Workers>
    bool all_alive(Workers const& workers, base::mono_ns now) {
        while (beats_.size() < workers.size()) beats_.push_back(std::make_unique<beat>());
        bool alive = true;
        for (std::size_t i = 0; i < workers.size(); ++i) {
            auto& beat = *beats_[i];
            if (beat.pending.load(std::memory_order_acquire)) {
                alive = alive && now - beat.sent_at < hangs_ns;
                continue;
            }
            beat.sent_at = now;
            beat.pending.store(true, std::memory_order_relaxed);
            workers[i]->post([&beat] { beat.pending.store(false, std::memory_order_release); });
        }
        return alive;
    }

  private:
    static constexpr base::mono_ns hangs_ns = 5 * base::second;
    struct beat {
        std::atomic<bool> pending{false};
        base::mono_ns sent_at = 0;
    };
    std::vector<std::unique_ptr<beat>> beats_;
};

}  // namespace latchkey::server
