// A webhook's queue: what became of attempts, and what is committed of it.
#include <algorithm>

#include "delivery/webhook_queue.hpp"
#include "model/webhook_status.hpp"

namespace latchkey::delivery {
namespace {

constexpr base::wall_ms probe_pause_min = 5'000, probe_pause_max = 300'000;

// A receiver that takes longer gets one attempt at a time: what waits would be given back.
constexpr std::uint32_t quick_ms = 20;

}  // namespace

std::pair<delivery_window*, window_entry*> webhook_queue::find_entry(model::id sequence) {
    auto const in_flight = [&](delivery_window& window) -> window_entry* {
        auto* const entry = window.find(sequence);
        return entry != nullptr && entry->state == window_state::in_flight ? entry : nullptr;
    };
    if (auto* const entry = in_flight(line_)) return {&line_, entry};
    for (auto& each : replays_)
        if (auto* const entry = in_flight(each.window)) return {&each.window, entry};
    return {nullptr, nullptr};
}

// Ends it, whatever came of it; it was in flight.
model::change_type webhook_queue::close(model::id sequence) {
    if (auto* const delivery = find_pending(sequence)) {
        auto const type = delivery->type;
        pending_.erase(pending_.begin() + (delivery - pending_.data()));
        return type;
    }
    auto const [window, entry] = find_entry(sequence);
    auto const type = entry->type;
    window->handle(*entry);
    return type;
}

void webhook_queue::note_failure(std::uint16_t status, base::wall_ms now) {
    if (failing_since_ == 0) failing_since_ = now;
    if (end_ != model::webhook_end::none) return;
    if (status == 410)
        end_ = model::webhook_end::gone;
    else if (now - failing_since_ >= failing_ms_max)
        end_ = model::webhook_end::failing;
}

model::delivery_state webhook_queue::finish(model::id sequence, attempt_result&& result,
                                            base::wall_ms now, jitter& jitter) {
    --in_flight_;
    auto* const delivery = find_pending(sequence);
    if (delivery != nullptr) --retries_in_flight_;
    bool const success = model::is_delivered(result.status);
    is_quick_ = success && result.duration_ms <= quick_ms;
    auto const retry_after = result.retry_after_seconds;
    model::delivery record{.sequence = sequence, .attempts = {}};
    record.attempts.push_back({.time = now - result.duration_ms,
                               .status = result.status,
                               .duration_ms = result.duration_ms,
                               .error = std::move(result.error),
                               .response = std::move(result.response)});
    if (success) {
        failing_since_ = 0;
        probe_at_ = probe_pause_ = 0;
        record.type = close(sequence);
        if (record.type == model::change_type::webhook_test) make_due(now);
        record.state = model::delivery_state::delivered;
        results_.push_back(std::move(record));
        return model::delivery_state::delivered;
    }
    note_failure(result.status, now);
    if (delivery != nullptr)
        return fail_again(*delivery, std::move(record), retry_after, now, jitter);
    fail_first(sequence, std::move(record), retry_after, now, jitter);
    return model::delivery_state::pending;
}

void webhook_queue::fail_first(model::id sequence, model::delivery&& record,
                               std::uint32_t retry_after, base::wall_ms now, jitter& jitter) {
    auto const [window, entry] = find_entry(sequence);
    if (is_congested()) {
        window->give_back(*entry);
        probe_pause_ = std::clamp(2 * probe_pause_, probe_pause_min, probe_pause_max);
        probe_at_ = now + probe_pause_;
        return;
    }
    record.type = entry->type;
    record.next_attempt_at = now + retry_pause(1, retry_after, jitter).value_or(0);
    window->handle(*entry);
    auto const place =
        std::ranges::lower_bound(pending_, sequence, {}, &pending_delivery::sequence);
    pending_.insert(
        place,
        {.sequence = sequence, .type = record.type, .attempts = 1, .due = record.next_attempt_at});
    results_.push_back(std::move(record));
}

model::delivery_state webhook_queue::fail_again(pending_delivery& delivery,
                                                model::delivery&& record, std::uint32_t retry_after,
                                                base::wall_ms now, jitter& jitter) {
    delivery.in_flight = false;
    record.type = delivery.type;
    if (auto const pause = retry_pause(++delivery.attempts, retry_after, jitter)) {
        record.next_attempt_at = delivery.due = now + *pause;
    } else {
        record.state = model::delivery_state::failed;
        close(delivery.sequence);
    }
    auto const state = record.state;
    results_.push_back(std::move(record));
    return state;
}

void webhook_queue::give_back(model::id sequence) {
    --in_flight_;
    is_quick_ = false;
    if (auto* const delivery = find_pending(sequence)) {
        --retries_in_flight_;
        delivery->in_flight = false;
        return;
    }
    auto const [window, entry] = find_entry(sequence);
    window->give_back(*entry);
}

void webhook_queue::abandon(model::id sequence, base::wall_ms now) {
    --in_flight_;
    is_quick_ = false;
    if (find_pending(sequence) != nullptr) --retries_in_flight_;
    model::delivery record{.sequence = sequence,
                           .type = close(sequence),
                           .state = model::delivery_state::failed,
                           .attempts = {}};
    record.attempts.push_back({.time = now, .error = "no longer kept", .response = {}});
    results_.push_back(std::move(record));
}

// ---- committing

bool webhook_queue::has_moved() const {
    return committed_.position != position() || committed_.failing_since != failing_since_ ||
           std::ranges::any_of(
               replays_, [](auto const& each) { return each.progress().next != each.record.next; });
}

bool webhook_queue::has_report(base::wall_ms now) const {
    return !committing_ && report_time() <= now;
}

base::wall_ms webhook_queue::report_time() const {
    if (!results_.empty() || (end_ != model::webhook_end::none && !is_retired_)) return 0;
    if (is_retired_ || !has_moved()) return no_time;
    return last_report_ + report_interval;
}

report const& webhook_queue::take_report(base::wall_ms now) {
    last_report_ = now;
    committing_.emplace(report{.webhook = id_,
                               .progress = model::webhook_progress{position(), failing_since_},
                               .deliveries = std::exchange(results_, {}),
                               .replays = {},
                               .end = is_retired_ ? model::webhook_end::none : end_});
    for (auto const& each : replays_)
        if (auto const progress = each.progress(); progress.next != each.record.next)
            committing_->replays.push_back(progress);
    return *committing_;
}

void webhook_queue::settle(bool committed) {
    auto content = std::exchange(committing_, std::nullopt);
    if (!committed) {
        std::ranges::move(results_, std::back_inserter(content->deliveries));
        results_ = std::move(content->deliveries);
        return;
    }
    committed_ = *content->progress;
    for (auto const& next : content->replays) {
        auto const walk = std::ranges::find(replays_, next.ordinal,
                                            [](auto const& each) { return each.record.ordinal; });
        walk->record.next = next.next;
        if (next.next > next.last) replays_.erase(walk);
    }
    if (content->end != model::webhook_end::none) retire();
}

}  // namespace latchkey::delivery
