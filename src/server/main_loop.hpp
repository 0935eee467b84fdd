// The event loop of the main thread: signals, a wake-up by another thread, clients of the
// management listener, or a deadline, in one ppoll, so that none of them delays another.
//
//     auto loop = main_loop::make().value();        // with the signals blocked
//     int const signal = loop->wait(deadline);      // 0: woken, or the deadline has passed
#pragma once

#include <poll.h>

#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "server/observe/management.hpp"

namespace latchkey::server {

inline constexpr base::mono_ns never = INT64_MAX;  // a deadline that does not come

class main_loop {
  public:
    // Receives SIGTERM, SIGINT and SIGHUP through a signalfd; they must be blocked in every thread.
    static base::result<std::unique_ptr<main_loop>> make();
    main_loop(main_loop const&) = delete;
    main_loop& operator=(main_loop const&) = delete;

    // From now on `wait` serves this listener too; null: none.
    void serve(std::unique_ptr<management> listener) { management_ = std::move(listener); }
    management* served() const { return management_.get(); }  // null: none

    // From now on `wait` also returns when the descriptor is readable; until `forget`.
    void wake_on(int fd) { watched_.push_back(fd); }
    void forget(int fd) { std::erase(watched_, fd); }

    // A signal's number; 0 when the deadline (monotonic) has passed, `wake` was called, or what
    // `wake_on` names is readable.
    int wait(base::mono_ns deadline);
    // Any thread; safe in a signal handler.
    void wake() noexcept;
    // The eventfd that does the same when it is written.
    int waker() const { return wakes_.get(); }

  private:
    main_loop() = default;
    base::descriptor signals_;  // a signalfd
    base::descriptor wakes_;    // an eventfd
    std::unique_ptr<management> management_;
    std::vector<int> watched_;
    std::vector<pollfd> polled_;
};

}  // namespace latchkey::server
