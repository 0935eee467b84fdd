// The real writer, in the time of a `world`: a command is held back as long as a disk might take,
// then committed while the world stands still, and the worker is told between two moments. So the
// writer's thread never runs beside the worker's, and a run replays. The linker leads the worker's
// `store::writer::submit` here (`--wrap`, see meson.build).
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "../uring/world.hpp"
#include "store/writer.hpp"

namespace latchkey::fake {

class held_commits final : public coro::executor {
  public:
    explicit held_commits(world& of);
    ~held_commits();
    held_commits(held_commits const&) = delete;
    held_commits& operator=(held_commits const&) = delete;
    static held_commits* current();

    // False, as the writer's own, when its queue is said to be full.
    bool take(store::writer& through, store::ticket& waiting);

  private:
    struct held {
        store::ticket* ticket;
        coro::executor* home;
    };

    void commit(store::writer& through);
    void post(coro::resumption& node) noexcept override;  // on the writer's thread

    world& world_;
    std::vector<held> held_;
    std::mutex mutex_;
    std::condition_variable one_more_;
    std::size_t done_ = 0;
};

}  // namespace latchkey::fake
