// The changes between the last one up to which everything was handled and the last one that was
// looked at: a sliding window, as of TCP's sender. What is handled out of order stays until all
// before it are, so that a position never passes one that is not.
#pragma once

#include <cstdint>
#include <deque>

#include "model/change.hpp"
#include "model/id.hpp"

namespace latchkey::delivery {

enum class window_state : std::uint8_t { ready, in_flight, handled };

struct window_entry {
    model::id sequence = 0;
    model::change_type type = model::change_type::user_created;
    window_state state = window_state::ready;
};

class delivery_window {
  public:
    explicit delivery_window(model::id position) : last_(position) {}

    // Everything up to it is handled, or of no interest.
    model::id position() const { return entries_.empty() ? last_ : entries_.front().sequence - 1; }
    // The last sequence that was looked at.
    model::id last() const { return last_; }
    std::size_t size() const { return entries_.size(); }

    void look_past(model::id sequence) { last_ = sequence; }
    void add(model::id sequence, model::change_type type);
    // Null: there is no such entry, or it is handled.
    window_entry* find(model::id sequence);
    // The first entry that is ready; null: none is.
    window_entry* first_ready();
    void fly(window_entry& entry) { entry.state = window_state::in_flight; }
    void give_back(window_entry& entry);
    void handle(window_entry& entry);

  private:
    std::size_t index_of(window_entry const& entry) const;

    std::deque<window_entry> entries_;  // ascending; the first one is not handled
    std::size_t ready_ = 0;             // no entry before it is ready
    model::id last_ = 0;
};

}  // namespace latchkey::delivery
