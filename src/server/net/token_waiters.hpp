// Requests of a worker that wait for tokens of their keys (cluster/quota.hpp): coroutines that are
// resumed all together, in the worker's mail, when the node has news of the engine, and now and
// then without any, since a wait must end whatever becomes of the engine. Each then tries again,
// and may wait again.
//
//     any thread:   waiters.tell(mailbox);
//     the worker:   waiters.begin_turn();  co_await token_waiters::wait(…);
//
// Belongs to the worker's thread but for `tell`; nothing is allocated. It outlives its waiters.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>

#include "base/time_units.hpp"
#include "runtime/coro/executor.hpp"
#include "runtime/uring/timers.hpp"

namespace latchkey::server {

class token_waiters {
  public:
    static constexpr base::mono_ns interval = 50 * base::millisecond;  // without news

    token_waiters();
    token_waiters(token_waiters const&) = delete;
    token_waiters& operator=(token_waiters const&) = delete;

    // Any thread: there is news. A worker without waiters is not woken.
    void tell(coro::executor& worker) noexcept;
    // What is told from now on is not lost on a request of this turn.
    void begin_turn() { known_news_ = news_.load(std::memory_order_acquire); }

    // An awaitable, in the frame of the one who waits.
    class wait {
      public:
        wait(token_waiters& waiters, uring::timers& timers, coro::executor& worker,
             base::mono_ns now)
            : waiters_(waiters), timers_(timers), worker_(worker), now_(now) {}
        wait(wait const&) = delete;
        wait& operator=(wait const&) = delete;

        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> handle) noexcept;
        void await_resume() const noexcept {}

      private:
        friend class token_waiters;
        token_waiters& waiters_;
        uring::timers& timers_;
        coro::executor& worker_;
        base::mono_ns now_;
        std::coroutine_handle<> handle_;
        wait* next_ = nullptr;
    };

  private:
    struct message : coro::resumption {
        token_waiters* owner = nullptr;
    };
    struct timer : uring::timers::entry {
        token_waiters* owner = nullptr;
        coro::executor* worker = nullptr;
    };

    void post(coro::executor& worker) noexcept;
    void resume_all();

    wait* first_ = nullptr;
    wait** end_ = &first_;
    std::uint64_t known_news_ = 0;
    timer timer_;
    std::atomic<std::uint64_t> news_{0};
    std::atomic<bool> has_waiters_{false};
    std::atomic<bool> is_posted_{false};
    message message_;
};

}  // namespace latchkey::server
