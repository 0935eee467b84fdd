// What the coroutine of a connection waits for, one thing at a time, and why that wait ended.
// Belongs to its worker's thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <utility>

#include "session/step.hpp"

namespace latchkey::server {

class client_wait {
  public:
    using wake_reason = session::wake_reason;
    enum class kind : std::uint8_t {
        nothing,
        input,   // more of it, or its end
        events,  // the same, but bytes that arrive do not end the wait; they are kept
        room,    // less than half of what may be unsent is unsent, or the connection ends
        turn,    // the worker's next one: other connections go first
        time,    // up to 64 ms later, whatever arrives meanwhile, or the connection ends
        closed,  // no operation is in flight; only after `finish` or `abort`
    };

    void begin(std::coroutine_handle<> waiter, kind purpose) {
        waiter_ = waiter;
        kind_ = purpose;
    }
    bool is_for(kind purpose) const { return kind_ == purpose; }
    bool is_for_client() const { return kind_ == kind::input || kind_ == kind::events; }

    void resume(wake_reason reason) {
        reason_ = reason;
        interrupted_ = false;
        kind_ = kind::nothing;
        std::exchange(waiter_, nullptr).resume();
    }
    // Why the last wait ended, or why there was none.
    wake_reason reason() const { return reason_; }
    void set_reason(wake_reason reason) { reason_ = reason; }

    // A wait for the client is to end. An interrupt that comes too late ends no later wait.
    void interrupt() { interrupted_ = true; }
    void forget_interrupt() { interrupted_ = false; }
    bool is_interrupted() const { return interrupted_ && is_for_client(); }

  private:
    std::coroutine_handle<> waiter_;
    kind kind_ = kind::nothing;
    wake_reason reason_ = wake_reason::bytes;
    bool interrupted_ = false;
};

}  // namespace latchkey::server
