// What the main thread waits for: signals, a word from another thread, a caller of the management
// listener, or a time. One call, so that none of them can hold up another.
//
//     auto waits = control::make().value();        // the signals are blocked before
//     int const signal = waits->wait(until);       // 0: woken, or the time has come
#pragma once

#include <memory>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "server/management.hpp"

namespace latchkey::server {

class control {
  public:
    // Takes SIGTERM, SIGINT and SIGHUP off the process; they must be blocked in every thread.
    static base::result<std::unique_ptr<control>> make();
    ~control();
    control(control const&) = delete;
    control& operator=(control const&) = delete;

    // From now on `wait` serves it too; null: nothing.
    void serve(std::unique_ptr<management> callers) { management_ = std::move(callers); }

    // The number of a signal; 0 once `until` (monotonic) has come or somebody called `wake`.
    int wait(base::mono_ns until);
    // Any thread; from a signal handler too.
    void wake() noexcept;

  private:
    control() = default;
    int signals_ = -1;  // a signalfd
    int wakes_ = -1;    // an eventfd
    std::unique_ptr<management> management_;
};

}  // namespace latchkey::server
