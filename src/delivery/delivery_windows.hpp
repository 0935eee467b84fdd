// The changes that one webhook is sent: a window of new ones, and beside it one for each replay.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "delivery/delivery_window.hpp"
#include "delivery/replay_walk.hpp"

namespace latchkey::delivery {

class delivery_windows {
  public:
    // Of the replays, so many changes are looked at in advance.
    explicit delivery_windows(model::id position, std::size_t replayed_max)
        : latest_(position), replayed_max_(replayed_max) {}

    // Of the new changes.
    delivery_window& latest() { return latest_; }
    delivery_window const& latest() const { return latest_; }

    // Begins the replays that are not known yet.
    void replay(std::span<model::webhook_replay const> replays);
    bool has_replays() const { return !replays_.empty(); }
    // The replay that wants changes; null: none does.
    replay_walk* open_replay();
    bool is_full(replay_walk const& walk) const { return walk.window.size() >= replayed_max_; }

    // In one of the windows, and not handled.
    bool has(model::id sequence);
    // The window whose first change that is ready has the lowest sequence; null: none is ready.
    delivery_window* first_ready();
    // The window that has it in flight, and its entry there; null: none has.
    std::pair<delivery_window*, window_entry*> find_in_flight(model::id sequence);

    // Has a replay gone on since it was committed?
    bool has_moved() const;
    // Those that have.
    std::vector<model::webhook_replay> progress() const;
    void note_committed(std::span<model::webhook_replay const> replays);

  private:
    delivery_window latest_;
    std::vector<replay_walk> replays_;
    std::uint64_t last_replay_ = 0;  // ordinal
    std::size_t replayed_max_;
};

}  // namespace latchkey::delivery
