#include "delivery/delivery_window.hpp"

#include <algorithm>

namespace latchkey::delivery {

void delivery_window::add(model::id sequence, model::change_type type) {
    entries_.push_back({sequence, type, window_state::ready});
    last_ = sequence;
}

window_entry* delivery_window::find(model::id sequence) {
    auto const entry = std::ranges::lower_bound(entries_, sequence, {}, &window_entry::sequence);
    bool const is_open = entry != entries_.end() && entry->sequence == sequence &&
                         entry->state != window_state::handled;
    return is_open ? &*entry : nullptr;
}

window_entry* delivery_window::first_ready() {
    for (; ready_ < entries_.size(); ++ready_)
        if (entries_[ready_].state == window_state::ready) return &entries_[ready_];
    return nullptr;
}

std::size_t delivery_window::index_of(window_entry const& entry) const {
    auto const place =
        std::ranges::lower_bound(entries_, entry.sequence, {}, &window_entry::sequence);
    return static_cast<std::size_t>(place - entries_.begin());
}

void delivery_window::give_back(window_entry& entry) {
    entry.state = window_state::ready;
    ready_ = std::min(ready_, index_of(entry));
}

void delivery_window::handle(window_entry& entry) {
    entry.state = window_state::handled;
    while (!entries_.empty() && entries_.front().state == window_state::handled) {
        entries_.pop_front();
        if (ready_ != 0) --ready_;
    }
}

}  // namespace latchkey::delivery
