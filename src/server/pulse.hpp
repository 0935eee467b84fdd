// Whether the workers live: each is asked for a sign between two of its turns, and one that owes it
// for five seconds hangs (a disk that does not answer, a bug). Nobody waits for the answers. Used
// on the main thread alone.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "server/worker.hpp"

namespace latchkey::server {

class pulse {
  public:
    // False when a worker has owed its sign for too long. Whoever owes none is asked again, so the
    // answer is about the time since the call before. The workers outlive their signs, and this
    // object outlives the workers.
    bool felt(std::span<std::unique_ptr<worker> const> workers, base::mono_ns now) {
        while (signs_.size() < workers.size()) signs_.push_back(std::make_unique<sign>());
        bool all = true;
        for (std::size_t i = 0; i < workers.size(); ++i) {
            auto& mine = *signs_[i];
            if (mine.owed.load(std::memory_order_acquire)) {
                all = all && now - mine.asked < hangs_ns;
                continue;
            }
            mine.asked = now;
            mine.owed.store(true, std::memory_order_relaxed);
            workers[i]->ask([&mine] { mine.owed.store(false, std::memory_order_release); });
        }
        return all;
    }

  private:
    static constexpr base::mono_ns hangs_ns = 5'000'000'000;
    struct sign {
        std::atomic<bool> owed{false};
        base::mono_ns asked = 0;
    };
    std::vector<std::unique_ptr<sign>> signs_;
};

}  // namespace latchkey::server
