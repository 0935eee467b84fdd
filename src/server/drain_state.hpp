// When a draining worker ends its idle connections: two turns after the drain began, and after each
// connection that was accepted since. In the first turn a request may still be among the
// completions; a connection that was just accepted submits its first receive in the next.
#pragma once

#include <cstdint>
#include <utility>

namespace latchkey::server {

class drain_state {
  public:
    // Where no one else answers, idle connections end. Where a successor does, those of HTTP/1.1
    // end with their next response: a request that is on its way would meet a closed connection.
    enum class kind : std::uint8_t { idle_at_once, with_notice };

    void start(kind kind = kind::idle_at_once) {
        kind_ = kind;
        ends_idle_ = false;
        turns_left_ = turns;
    }
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
    bool ends_idle() const { return ends_idle_ && kind_ == kind::idle_at_once; }
    // One that can tell its client (GOAWAY) does.
    bool gives_notice() const { return ends_idle_; }

  private:
    static constexpr unsigned turns = 2;

    kind kind_ = kind::idle_at_once;
    unsigned turns_left_ = 0;
    bool ends_idle_ = false;
};

}  // namespace latchkey::server
