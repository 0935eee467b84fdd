// A webhook's queue: what became of attempts, and what is committed of it.
#include <algorithm>

#include "delivery/webhook_queue.hpp"
#include "model/webhook_status.hpp"

namespace latchkey::delivery {
namespace {

// A receiver that takes longer gets one attempt at a time: what waits would be given back.
constexpr std::uint32_t quick_ms = 20;

}  // namespace

// Ends it, whatever came of it; it was in flight.
model::change_type webhook_queue::close(model::id sequence) {
    if (auto* const delivery = pending_.find(sequence)) {
        auto const type = delivery->type;
        pending_.erase(*delivery);
        return type;
    }
    auto const [window, entry] = windows_.find_in_flight(sequence);
    auto const type = entry->type;
    window->handle(*entry);
    return type;
}

model::delivery_state webhook_queue::finish(model::id sequence, attempt_result&& result,
                                            base::wall_ms now, jitter& jitter) {
    --in_flight_;
    auto* const delivery = pending_.find(sequence);
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
        health_.note_success();
        record.type = close(sequence);
        if (record.type == model::change_type::webhook_test) pending_.make_due(now);
        record.state = model::delivery_state::delivered;
        results_.push_back(std::move(record));
        return model::delivery_state::delivered;
    }
    health_.note_failure(result.status, now);
    if (delivery != nullptr)
        return fail_again(*delivery, std::move(record), retry_after, now, jitter);
    fail_first(sequence, std::move(record), retry_after, now, jitter);
    return model::delivery_state::pending;
}

void webhook_queue::fail_first(model::id sequence, model::delivery&& record,
                               std::uint32_t retry_after, base::wall_ms now, jitter& jitter) {
    auto const [window, entry] = windows_.find_in_flight(sequence);
    if (is_congested()) {
        window->give_back(*entry);
        return health_.postpone_probe(now);
    }
    record.type = entry->type;
    record.next_attempt_at = now + retry_pause(1, retry_after, jitter).value_or(0);
    window->handle(*entry);
    pending_.add(
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
    if (auto* const delivery = pending_.find(sequence)) {
        --retries_in_flight_;
        delivery->in_flight = false;
        return;
    }
    auto const [window, entry] = windows_.find_in_flight(sequence);
    window->give_back(*entry);
}

void webhook_queue::abandon(model::id sequence, base::wall_ms now) {
    --in_flight_;
    is_quick_ = false;
    if (pending_.find(sequence) != nullptr) --retries_in_flight_;
    model::delivery record{.sequence = sequence,
                           .type = close(sequence),
                           .state = model::delivery_state::failed,
                           .attempts = {}};
    record.attempts.push_back({.time = now, .error = "no longer kept", .response = {}});
    results_.push_back(std::move(record));
}

// ---- committing

bool webhook_queue::has_moved() const {
    return committed_.position != position() ||
           committed_.failing_since != health_.failing_since() || windows_.has_moved();
}

bool webhook_queue::has_report(base::wall_ms now) const {
    return !committing_ && report_time() <= now;
}

base::wall_ms webhook_queue::report_time() const {
    if (!results_.empty() || (health_.has_end() && !is_retired_)) return 0;
    if (is_retired_ || !has_moved()) return no_time;
    return last_report_ + report_interval;
}

report const& webhook_queue::take_report(base::wall_ms now) {
    last_report_ = now;
    committing_.emplace(
        report{.webhook = id_,
               .progress = model::webhook_progress{position(), health_.failing_since()},
               .deliveries = std::exchange(results_, {}),
               .replays = windows_.progress(),
               .end = is_retired_ ? model::webhook_end::none : health_.end()});
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
    windows_.note_committed(content->replays);
    if (content->end != model::webhook_end::none) retire();
}

}  // namespace latchkey::delivery
