// A webhook's queue: which changes enter it, and which is sent next.
#include "delivery/webhook_queue.hpp"

#include <algorithm>

#include "base/time_units.hpp"

namespace latchkey::delivery {
namespace {

// Retries among the attempts in flight to an unordered webhook, at most, so that new changes find a
// place beside them.
constexpr std::size_t retries_in_flight_max = webhook_queue::in_flight_max / 2;
constexpr std::size_t replayed_max = webhook_queue::window_max / 2;
constexpr unsigned kinds = 2;  // of what is next: retries, and changes from a window

}  // namespace

webhook_queue::webhook_queue(model::webhook const& webhook, model::webhook_progress const& progress,
                             std::vector<pending_delivery> pending)
    : id_(webhook.id),
      filter_(webhook),
      windows_(progress.position, replayed_max),
      pending_(std::move(pending)),
      health_(progress.failing_since),
      committed_(progress) {
    update(webhook);
}

void webhook_queue::update(model::webhook const& webhook) {
    filter_ = change_filter(webhook);
    is_ordered_ = webhook.ordered;
    pace_.limit(webhook.max_per_second);
}

// ---- reading

// A record beyond the position is of a change that was handled before this process began.
void webhook_queue::offer(change const& change, base::wall_ms now) {
    if (!filter_.wants(change) || pending_.find(change.sequence) != nullptr)
        return look_past(change.sequence);
    windows_.latest().add(change.sequence, change.type);
    // One at a time, the first that fails holds up the others; else they wait for its success.
    if (change.type == model::change_type::webhook_test && is_ordered_) pending_.make_due(now);
}

bool webhook_queue::offer_again(replay_walk& walk, change const& change, base::wall_ms now) {
    if (windows_.is_full(walk)) return false;
    walk.window.look_past(change.sequence);
    if (!filter_.wants(change)) return true;
    if (auto* const delivery = pending_.find(change.sequence)) {
        delivery->attempts = 0;
        if (!delivery->in_flight) delivery->due = now;
        results_.push_back({.sequence = change.sequence,
                            .type = change.type,
                            .next_attempt_at = delivery->due,
                            .attempts = {}});
    } else if (!windows_.has(change.sequence)) {
        walk.window.add(change.sequence, change.type);
    }
    return true;
}

// ---- sending

bool webhook_queue::may_send() const {
    return !is_retired_ && !health_.has_end() &&
           in_flight_ < (is_ordered_ ? ahead_max : in_flight_max) && results_.size() < results_max;
}

bool webhook_queue::may_begin(base::wall_ms now) const {
    return !is_congested() || (in_flight_ == retries_in_flight_ && now >= health_.probe_time());
}

model::id webhook_queue::begin(delivery_window& window) {
    auto* const entry = window.first_ready();
    window.fly(*entry);
    ++in_flight_;
    last_begun_ = entry->sequence;
    return entry->sequence;
}

model::id webhook_queue::begin(pending_delivery& delivery) {
    delivery.in_flight = true;
    ++in_flight_, ++retries_in_flight_;
    return delivery.sequence;
}

// Behind those in flight, which are all new changes then.
bool webhook_queue::may_go_ahead() {
    if (!is_quick_ || !pending_.empty() || windows_.has_replays()) return false;
    auto const* const entry = windows_.latest().first_ready();
    return entry != nullptr && entry->sequence > last_begun_;
}

std::optional<model::id> webhook_queue::next_in_order(base::wall_ms now) {
    if (in_flight_ != 0)
        return may_go_ahead() ? std::optional(begin(windows_.latest())) : std::nullopt;
    auto* const window = windows_.first_ready();
    auto* const head = pending_.empty() ? nullptr : &pending_.front();
    if (head != nullptr &&
        (window == nullptr || head->sequence < window->first_ready()->sequence)) {
        if (head->due > now) return std::nullopt;
        return begin(*head);
    }
    if (window == nullptr || !may_begin(now)) return std::nullopt;
    return begin(*window);
}

// Retries for kind 0, else new and replayed changes in turn.
std::optional<model::id> webhook_queue::next_of(unsigned kind, base::wall_ms now) {
    if (kind == 0) {
        auto* const delivery =
            retries_in_flight_ < retries_in_flight_max ? pending_.find_due(now) : nullptr;
        if (delivery == nullptr) return std::nullopt;
        return begin(*delivery);
    }
    if (!may_begin(now)) return std::nullopt;
    if (turn_ % (2 * kinds) < kinds && windows_.latest().first_ready() != nullptr)
        return begin(windows_.latest());
    auto* const window = windows_.first_ready();
    if (window == nullptr) return std::nullopt;
    return begin(*window);
}

std::optional<model::id> webhook_queue::next(base::instant const& now) {
    if (!may_send() || pace_.next() > now.mono) return std::nullopt;
    std::optional<model::id> sequence;
    if (is_ordered_) {
        sequence = next_in_order(now.wall);
    } else {
        ++turn_;
        for (unsigned i = 0; i < kinds && !sequence; ++i)
            sequence = next_of((turn_ + i) % kinds, now.wall);
    }
    if (sequence) pace_.spend(now.mono);
    return sequence;
}

base::wall_ms webhook_queue::next_time(base::instant const& now) {
    if (!may_send() || (is_ordered_ && in_flight_ != 0 && !may_go_ahead())) return no_time;
    auto const* const window = windows_.first_ready();
    auto time = no_time;
    if (window != nullptr && (!is_congested() || in_flight_ == retries_in_flight_))
        time = is_congested() ? health_.probe_time() : now.wall;
    bool const waits = is_ordered_ && !pending_.empty() &&
                       (window == nullptr || pending_.front().sequence <
                                                 windows_.first_ready()->first_ready()->sequence);
    if (waits) {
        time = pending_.front().due;
    } else if (!is_ordered_ && retries_in_flight_ < retries_in_flight_max) {
        time = std::min(time, pending_.next_due());
    }
    if (time == no_time) return no_time;
    auto const wait = std::max<base::mono_ns>(0, pace_.next() - now.mono);
    return std::max(time, now.wall + (wait + base::millisecond - 1) / base::millisecond);
}

}  // namespace latchkey::delivery
