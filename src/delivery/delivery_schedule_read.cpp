// Reading the feed: once for all webhooks that have read as far as the others, and for each one
// that lags by itself.
#include <algorithm>

#include "delivery/delivery_schedule.hpp"

namespace latchkey::delivery {

bool delivery_schedule::read(change_feed const& feed, base::wall_ms now) {
    bool more = read_new(feed, now);
    std::size_t budget = changes_per_read;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        auto& slot = *slots_[(first_read_ + i) % slots_.size()];
        if (slot.queue.is_retired()) continue;
        if (budget == 0) {
            first_read_ = (first_read_ + i) % slots_.size();
            return true;
        }
        if (!slot.is_current) more |= catch_up(slot, feed, budget, now);
        more |= read_replays(slot.queue, feed, budget, now);
    }
    return more;
}

bool delivery_schedule::read_new(change_feed const& feed, base::wall_ms now) {
    auto const last = feed.last();
    if (current_.empty()) {
        head_ = std::max(head_, last);
        return false;
    }
    if (head_ >= last) return false;
    auto const start = head_;
    std::size_t count = 0;
    feed.visit(head_, [&](change const& change) {
        offer_to_current(change, now);
        head_ = change.sequence;
        return ++count < changes_per_read;
    });
    for (auto* const slot : current_) slot->queue.look_past(head_);
    return head_ < last && head_ != start;
}

// One without room leaves the current ones, before this change.
void delivery_schedule::offer_to_current(change const& change, base::wall_ms now) {
    for (auto* const slot : current_) {
        auto& queue = slot->queue;
        bool const concerns = change.type == model::change_type::webhook_test
                                  ? change.subject == queue.id()
                                  : queue.types().has(change.type);
        if (!concerns) continue;
        if (queue.has_room()) {
            queue.offer(change, now);
        } else {
            queue.look_past(change.sequence - 1);
            slot->is_current = false;
        }
    }
    std::erase_if(current_, [](auto const* slot) { return !slot->is_current; });
}

// True: there is more, and room for it. A feed that ends early has a damaged record: what is beyond
// it is not passed over.
bool delivery_schedule::catch_up(slot& slot, change_feed const& feed, std::size_t& budget,
                                 base::wall_ms now) {
    auto& queue = slot.queue;
    auto const start = queue.last_read();
    if (!queue.has_room() || start > head_) return false;
    bool is_at_end = start == head_;
    if (!is_at_end)
        feed.visit(start, [&](change const& change) {
            is_at_end = change.sequence > head_;
            if (is_at_end || budget == 0 || !queue.has_room()) return false;
            queue.offer(change, now);
            --budget;
            is_at_end = change.sequence == head_;
            return !is_at_end;
        });
    if (!is_at_end) return queue.has_room() && queue.last_read() != start;
    queue.look_past(head_);
    slot.is_current = true;
    current_.push_back(&slot);
    return false;
}

bool delivery_schedule::read_replays(webhook_queue& queue, change_feed const& feed,
                                     std::size_t& budget, base::wall_ms now) {
    while (auto* const walk = queue.open_replay()) {
        if (budget == 0) return true;
        bool is_at_end = false;
        feed.visit(walk->window.last(), [&](change const& change) {
            is_at_end = change.sequence > walk->end;
            if (is_at_end || budget == 0) return false;
            if (!queue.offer_again(*walk, change, now)) return false;
            is_at_end = change.sequence == walk->end;
            --budget;
            return !is_at_end;
        });
        if (!is_at_end) return budget == 0;
        walk->window.look_past(walk->end);
    }
    return false;
}

}  // namespace latchkey::delivery
