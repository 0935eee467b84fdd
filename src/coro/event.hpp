// Something happened, and one coroutine waits for it: what a connection awaits its input on.
//
//     coro::event input;
//     co_await input;     // in the connection
//     input.set();        // in the worker's loop: the connection runs, here and now
//
// One thread, one waiter at a time (a second is a failed check). The event must outlive the wait; a
// waiter that is destroyed while it waits is forgotten.
#pragma once

#include <coroutine>
#include <utility>

#include "base/check.hpp"

namespace latchkey::coro {

class event {
  public:
    event() = default;
    ~event() { base::check(!waiter_, "an event destroyed under its waiter"); }
    event(event const&) = delete;
    event& operator=(event const&) = delete;

    // With a waiter: resumes it before returning, and the event is left not set. The waiter may
    // destroy the event; nothing of it is touched afterwards. Without one: the event stays set, and
    // the next co_await goes on at once. Setting it twice is setting it once.
    void set() {
        if (waiter_)
            std::exchange(waiter_, nullptr).resume();
        else
            set_ = true;
    }
    // Forgets a set() that nobody awaited.
    void reset() noexcept { set_ = false; }

    bool is_set() const noexcept { return set_; }
    bool awaited() const noexcept { return waiter_ != nullptr; }

    // Waits unless set, and leaves the event not set.
    [[nodiscard]] auto operator co_await() noexcept { return waiting(*this); }

  private:
    class waiting {
      public:
        explicit waiting(event& on) noexcept : on_(on) {}
        waiting(waiting const&) = delete;
        waiting& operator=(waiting const&) = delete;
        // While suspended the event outlives us, and after `set` it may not: so only a wait that
        // was never resumed looks at it.
        ~waiting() {
            if (suspended_) on_.waiter_ = nullptr;
        }

        bool await_ready() const noexcept { return std::exchange(on_.set_, false); }
        void await_suspend(std::coroutine_handle<> waiter) noexcept {
            base::check(!on_.waiter_, "an event awaited twice at once");
            on_.waiter_ = waiter;
            suspended_ = true;
        }
        void await_resume() noexcept { suspended_ = false; }

      private:
        event& on_;
        bool suspended_ = false;
    };

    std::coroutine_handle<> waiter_;
    bool set_ = false;
};

}  // namespace latchkey::coro
