#include "delivery/delivery_windows.hpp"

#include <algorithm>

namespace latchkey::delivery {

void delivery_windows::replay(std::span<model::webhook_replay const> replays) {
    for (auto const& each : replays) {
        if (each.ordinal <= last_replay_) continue;
        last_replay_ = each.ordinal;
        replays_.emplace_back(each, latest_.last());
    }
}

replay_walk* delivery_windows::open_replay() {
    std::size_t size = 0;
    for (auto& each : replays_) {
        size += each.window.size();
        if (size >= replayed_max_) return nullptr;
        if (!each.is_read()) return &each;
    }
    return nullptr;
}

bool delivery_windows::has(model::id sequence) {
    return latest_.find(sequence) != nullptr || std::ranges::any_of(replays_, [&](auto& each) {
               return each.window.find(sequence) != nullptr;
           });
}

delivery_window* delivery_windows::first_ready() {
    auto* lowest = latest_.first_ready() != nullptr ? &latest_ : nullptr;
    for (auto& each : replays_)
        if (auto const* const entry = each.window.first_ready())
            if (lowest == nullptr || entry->sequence < lowest->first_ready()->sequence)
                lowest = &each.window;
    return lowest;
}

std::pair<delivery_window*, window_entry*> delivery_windows::find_in_flight(model::id sequence) {
    auto const in_flight = [&](delivery_window& window) -> window_entry* {
        auto* const entry = window.find(sequence);
        return entry != nullptr && entry->state == window_state::in_flight ? entry : nullptr;
    };
    if (auto* const entry = in_flight(latest_)) return {&latest_, entry};
    for (auto& each : replays_)
        if (auto* const entry = in_flight(each.window)) return {&each.window, entry};
    return {nullptr, nullptr};
}

bool delivery_windows::has_moved() const {
    return std::ranges::any_of(
        replays_, [](auto const& each) { return each.progress().next != each.record.next; });
}

std::vector<model::webhook_replay> delivery_windows::progress() const {
    std::vector<model::webhook_replay> result;
    for (auto const& each : replays_)
        if (auto const next = each.progress(); next.next != each.record.next)
            result.push_back(next);
    return result;
}

void delivery_windows::note_committed(std::span<model::webhook_replay const> replays) {
    for (auto const& next : replays) {
        auto const walk = std::ranges::find(replays_, next.ordinal,
                                            [](auto const& each) { return each.record.ordinal; });
        walk->record.next = next.next;
        if (next.next > next.last) replays_.erase(walk);
    }
}

}  // namespace latchkey::delivery
