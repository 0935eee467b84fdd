// When a draining worker ends its idle connections: two turns after the order, and after each
// connection that was still accepted. A request may have arrived with the completions of the turn
// in which the order came, and one that was just accepted is asked for its request with the next.
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
