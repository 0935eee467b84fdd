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
      line_(progress.position),
      pending_(std::move(pending)),
      failing_since_(progress.failing_since),
      committed_(progress) {
    std::ranges::sort(pending_, {}, &pending_delivery::sequence);
    update(webhook);
}

void webhook_queue::update(model::webhook const& webhook) {
    types_ = {};
    for (auto const& pattern : webhook.types) types_.add(pattern);
    project_ = webhook.project;
    is_ordered_ = webhook.ordered;
    pace_.limit(webhook.max_per_second);
}

void webhook_queue::replay(std::span<model::webhook_replay const> replays) {
    for (auto const& each : replays) {
        if (each.ordinal <= last_replay_) continue;
        last_replay_ = each.ordinal;
        replays_.emplace_back(each, line_.last());
    }
}

// ---- reading

bool webhook_queue::wants(change const& change) const {
    if (change.type == model::change_type::webhook_test) return change.subject == id_;
    if (!types_.has(change.type)) return false;
    if (project_.empty() || change.project == project_) return true;
    return !model::is_about_key(change.type) && change.type != model::change_type::webhook_disabled;
}

// A record beyond the position is of a change that was handled before this process began.
void webhook_queue::offer(change const& change, base::wall_ms now) {
    if (!wants(change) || find_pending(change.sequence) != nullptr)
        return line_.look_past(change.sequence);
    line_.add(change.sequence, change.type);
    // One at a time, the first that fails holds up the others; else they wait for its success.
    if (change.type == model::change_type::webhook_test && is_ordered_) make_due(now);
}

replay_walk* webhook_queue::open_replay() {
    std::size_t size = 0;
    for (auto& each : replays_) {
        size += each.window.size();
        if (size >= replayed_max) return nullptr;
        if (!each.is_read()) return &each;
    }
    return nullptr;
}

bool webhook_queue::is_in_line(model::id sequence) {
    return line_.find(sequence) != nullptr || std::ranges::any_of(replays_, [&](auto& each) {
               return each.window.find(sequence) != nullptr;
           });
}

bool webhook_queue::offer_again(replay_walk& walk, change const& change, base::wall_ms now) {
    if (walk.window.size() >= replayed_max) return false;
    walk.window.look_past(change.sequence);
    if (!wants(change)) return true;
    if (auto* const delivery = find_pending(change.sequence)) {
        delivery->attempts = 0;
        if (!delivery->in_flight) delivery->due = now;
        results_.push_back({.sequence = change.sequence,
                            .type = change.type,
                            .next_attempt_at = delivery->due,
                            .attempts = {}});
    } else if (!is_in_line(change.sequence)) {
        walk.window.add(change.sequence, change.type);
    }
    return true;
}

void webhook_queue::make_due(base::wall_ms now) {
    for (auto& each : pending_) each.due = std::min(each.due, now);
}

// ---- sending

bool webhook_queue::may_send() const {
    return !is_retired_ && end_ == model::webhook_end::none &&
           in_flight_ < (is_ordered_ ? ahead_max : in_flight_max) && results_.size() < results_max;
}

pending_delivery* webhook_queue::find_pending(model::id sequence) {
    auto const place =
        std::ranges::lower_bound(pending_, sequence, {}, &pending_delivery::sequence);
    return place != pending_.end() && place->sequence == sequence ? &*place : nullptr;
}

pending_delivery* webhook_queue::due_delivery(base::wall_ms now) {
    pending_delivery* earliest = nullptr;
    for (auto& each : pending_)
        if (!each.in_flight && each.due <= now && (earliest == nullptr || each.due < earliest->due))
            earliest = &each;
    return earliest;
}

// The window, of new or replayed changes, whose next change has the lowest sequence.
delivery_window* webhook_queue::ready_window() {
    auto* lowest = line_.first_ready() != nullptr ? &line_ : nullptr;
    for (auto& each : replays_)
        if (auto const* const entry = each.window.first_ready())
            if (lowest == nullptr || entry->sequence < lowest->first_ready()->sequence)
                lowest = &each.window;
    return lowest;
}

bool webhook_queue::may_begin(base::wall_ms now) const {
    return !is_congested() || (in_flight_ == retries_in_flight_ && now >= probe_at_);
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
    if (!is_quick_ || !pending_.empty() || !replays_.empty()) return false;
    auto const* const entry = line_.first_ready();
    return entry != nullptr && entry->sequence > last_begun_;
}

std::optional<model::id> webhook_queue::next_in_order(base::wall_ms now) {
    if (in_flight_ != 0) return may_go_ahead() ? std::optional(begin(line_)) : std::nullopt;
    auto* const window = ready_window();
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
            retries_in_flight_ < retries_in_flight_max ? due_delivery(now) : nullptr;
        if (delivery == nullptr) return std::nullopt;
        return begin(*delivery);
    }
    if (!may_begin(now)) return std::nullopt;
    if (turn_ % (2 * kinds) < kinds && line_.first_ready() != nullptr) return begin(line_);
    auto* const window = ready_window();
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
    auto const* const window = ready_window();
    auto time = no_time;
    if (window != nullptr && (!is_congested() || in_flight_ == retries_in_flight_))
        time = is_congested() ? probe_at_ : now.wall;
    bool const waits =
        is_ordered_ && !pending_.empty() &&
        (window == nullptr || pending_.front().sequence < ready_window()->first_ready()->sequence);
    if (waits) {
        time = pending_.front().due;
    } else if (!is_ordered_ && retries_in_flight_ < retries_in_flight_max) {
        for (auto const& each : pending_)
            if (!each.in_flight) time = std::min(time, each.due);
    }
    if (time == no_time) return no_time;
    auto const wait = std::max<base::mono_ns>(0, pace_.next() - now.mono);
    return std::max(time, now.wall + (wait + base::millisecond - 1) / base::millisecond);
}

}  // namespace latchkey::delivery
