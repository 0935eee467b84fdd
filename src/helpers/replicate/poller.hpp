// The only place where the program waits: coroutines of one thread, resumed by poll(2) when a
// descriptor is ready, a signal was set or a deadline has passed.
//
//     auto const cause = co_await poller.until({.descriptor = socket, .events = POLLIN,
//                                               .news = &queue_filled, .deadline = late});
//
// A handful of waiters: each turn looks at all of them. One thread; a signal has one waiter at a
// time. A waiter that is destroyed while it waits is forgotten.
#pragma once

#include <coroutine>
#include <cstdint>
#include <vector>

#include "base/system/poll_until.hpp"

namespace latchkey::replicate {

using base::never;

// Stays set until a waiter takes it.
class signal {
  public:
    void set() { set_ = true; }
    bool is_set() const { return set_; }
    void clear() { set_ = false; }

  private:
    bool set_ = false;
};

struct interest {
    int descriptor = -1;
    short events = 0;
    signal* news = nullptr;
    base::mono_ns deadline = never;
};

enum class wake_cause : std::uint8_t { ready, news, late };

class poller {
  public:
    class waiter;
    [[nodiscard]] waiter until(interest interest);
    [[nodiscard]] waiter sleep(base::mono_ns duration);
    // Waits once and resumes what is due.
    void turn();

  private:
    std::vector<waiter*> waiters_;
};

class poller::waiter {
  public:
    waiter(poller& owner, interest interest) : owner_(owner), interest_(interest) {}
    waiter(waiter const&) = delete;
    waiter& operator=(waiter const&) = delete;
    ~waiter();

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    wake_cause await_resume() noexcept { return cause_; }

  private:
    friend poller;
    bool is_due(base::mono_ns now, short events);

    poller& owner_;
    interest interest_;
    std::coroutine_handle<> handle_;
    wake_cause cause_ = wake_cause::late;
};

}  // namespace latchkey::replicate
