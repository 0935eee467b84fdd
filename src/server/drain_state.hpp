// When a draining worker ends its idle connections: two turns after the drain began, and after each
// connection that was accepted since. In the first turn a request may still be among the
// completions; a connection that was just accepted submits its first receive in the next.
#pragma once

#include <utility>

namespace latchkey::server {

class drain_state {
  public:
    void start() { turns_left_ = turns; }
    // A connection was accepted: it too is asked for a request before it counts as idle.
    void postpone() {
        if (std::exchange(ends_idle_, false) || counting()) turns_left_ = turns;
    }
    // Once a turn, where all connections were asked. True: now the idle ones are to end.
    bool count_turn() {
        if (!counting() || --turns_left_ != 0) return false;
        ends_idle_ = true;
        return true;
    }
    bool counting() const { return turns_left_ != 0; }
    // A connection without a request in hand is not kept.
    bool ends_idle() const { return ends_idle_; }

  private:
    static constexpr unsigned turns = 2;

    unsigned turns_left_ = 0;
    bool ends_idle_ = false;
};

}  // namespace latchkey::server
