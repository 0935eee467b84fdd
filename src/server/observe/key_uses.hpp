// Hands to the store what keys were used for, as this worker counted it (docs/api.md §4): in
// batches, never a write per request, and at a graceful stop all of it. Belongs to the worker's
// thread.
#pragma once

#include <functional>

#include "auth/usage_counter.hpp"
#include "base/clock.hpp"
#include "base/time_units.hpp"
#include "runtime/coro/task_scope.hpp"
#include "runtime/uring/timers.hpp"
#include "server/worker_context.hpp"

namespace latchkey::server {

class key_use_reporter {
  public:
    // How long others do not see a use, at most.
    static constexpr base::mono_ns interval = 5 * base::second;

    key_use_reporter(worker_context& context, auth::usage_counter& uses);
    key_use_reporter(key_use_reporter const&) = delete;
    key_use_reporter& operator=(key_use_reporter const&) = delete;

    // Reports what there is and arms the next report. Once the context is open.
    void report();
    // Once a turn: does not wait for the interval where much has been counted.
    void report_if_full() {
        if (may_report_early_ && uses_.full()) report();
    }
    // Reports the rest, for up to a second, where the writer is busy; `turn` is a turn of the
    // worker. Once no connection is left to use a key.
    void report_rest(std::function<void()> const& turn);
    // Reports that the store has not answered.
    std::size_t running() const { return submissions_.size(); }

  private:
    struct interval_timer : uring::timers::entry {
        key_use_reporter* self = nullptr;
    };
    static coro::task<> submit(key_use_reporter* self);

    worker_context& context_;
    auth::usage_counter& uses_;
    interval_timer timer_;
    coro::scope submissions_;
    bool may_report_early_ = false;  // the store took the last report
};

}  // namespace latchkey::server
