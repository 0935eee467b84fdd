// The real writer in simulated time: a command is delayed as long as a disk might take, then
// committed while the world stands still, and the outcome is posted between two events. So the
// writer's thread never runs beside the worker's, and a run is deterministic. The linker redirects
// the worker's `domain::writer::submit` here (`--wrap`, see meson.build).
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "../runtime/uring/world.hpp"
#include "domain/writer.hpp"

namespace latchkey::fake {

class delayed_commits final : public coro::executor {
  public:
    explicit delayed_commits(world& simulation);
    ~delayed_commits();
    delayed_commits(delayed_commits const&) = delete;
    delayed_commits& operator=(delayed_commits const&) = delete;
    static delayed_commits* current();

    // False, as of the writer's own `submit`: its queue is full, by a simulated fault.
    bool delay(domain::writer& writer, domain::ticket& ticket);

  private:
    struct delayed_ticket {
        domain::ticket* ticket;
        coro::executor* executor;
    };

    void commit(domain::writer& writer);
    void post(coro::resumption& node) noexcept override;  // on the writer's thread

    world& world_;
    std::vector<delayed_ticket> delayed_;
    std::mutex mutex_;
    std::condition_variable progress_;
    std::size_t done_count_ = 0;
};

}  // namespace latchkey::fake
