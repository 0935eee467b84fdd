// An event that one coroutine awaits, for tests that suspend and resume coroutines.
//
//     coro::event input;
//     co_await input;     // in the coroutine
//     input.set();        // in the test: the coroutine resumes inside this call
//
// One thread, one waiter at a time (a second fails a check). The event must outlive the wait; it
// forgets a waiter that is destroyed while it waits.
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

    // With a waiter: resumes it before returning and leaves the event unset. The waiter may destroy
    // the event, which is not used afterwards. Without a waiter: the event stays set, and the next
    // co_await does not suspend. Setting it twice has the effect of setting it once.
    void set() {
        if (waiter_)
            std::exchange(waiter_, nullptr).resume();
        else
            set_ = true;
    }
    // Clears a set() that was not awaited.
    void reset() noexcept { set_ = false; }

    bool is_set() const noexcept { return set_; }
    bool awaited() const noexcept { return waiter_ != nullptr; }

    // Waits unless set, and leaves the event unset.
    [[nodiscard]] auto operator co_await() noexcept { return awaiter(*this); }

  private:
    class awaiter {
      public:
        explicit awaiter(event& target) noexcept : event_(target) {}
        awaiter(awaiter const&) = delete;
        awaiter& operator=(awaiter const&) = delete;
        // Only a wait that was never resumed touches the event: `set` may have destroyed it.
        ~awaiter() {
            if (suspended_) event_.waiter_ = nullptr;
        }

        bool await_ready() const noexcept { return std::exchange(event_.set_, false); }
        void await_suspend(std::coroutine_handle<> waiter) noexcept {
            base::check(!event_.waiter_, "an event awaited twice at once");
            event_.waiter_ = waiter;
            suspended_ = true;
        }
        void await_resume() noexcept { suspended_ = false; }

      private:
        event& event_;
        bool suspended_ = false;
    };

    std::coroutine_handle<> waiter_;
    bool set_ = false;
};

}  // namespace latchkey::coro
