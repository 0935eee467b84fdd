// Webhooks are slots in the order of their ids, each with a queue; `first_` and `first_report_` go
// round, so each has its turn at sending and at being committed. Flights are found by number. The
// sums of shared attempts and bytes are kept per slot, per owner and in total, and change at two
// places only.
#include "delivery/delivery_schedule.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::delivery {
namespace {

constexpr std::size_t share = 8;  // the part of what is left that one webhook may have

}  // namespace

delivery_schedule::slot* delivery_schedule::find(model::id webhook) const {
    auto const place = std::ranges::lower_bound(slots_, webhook, {},
                                                [](auto const& slot) { return slot->queue.id(); });
    return place != slots_.end() && (*place)->queue.id() == webhook ? place->get() : nullptr;
}

void delivery_schedule::add(model::webhook const& webhook, model::webhook_progress const& progress,
                            std::vector<pending_delivery> pending,
                            std::span<model::webhook_replay const> replays) {
    auto& holder = owners_[{webhook.project, webhook.project.empty() ? webhook.created_by : 0}];
    ++holder.webhook_count;
    auto added =
        std::make_unique<slot>(webhook_queue(webhook, progress, std::move(pending)), holder);
    added->queue.replay(replays);
    auto const place = std::ranges::lower_bound(slots_, webhook.id, {},
                                                [](auto const& slot) { return slot->queue.id(); });
    slots_.insert(place, std::move(added));
}

void delivery_schedule::update(model::webhook const& webhook,
                               std::span<model::webhook_replay const> replays) {
    auto* const slot = find(webhook.id);
    slot->queue.update(webhook);
    slot->queue.replay(replays);
}

void delivery_schedule::keep_only(std::span<model::id const> enabled) {
    for (auto const& slot : slots_)
        if (!std::ranges::binary_search(enabled, slot->queue.id())) slot->queue.retire();
    remove_finished();
}

void delivery_schedule::remove_finished() {
    std::erase_if(current_, [](auto const* slot) { return slot->queue.is_retired(); });
    std::erase_if(slots_, [](auto const& slot) {
        if (slot->queue.is_over()) --slot->holder.webhook_count;
        return slot->queue.is_over();
    });
    std::erase_if(owners_, [](auto const& each) { return each.second.webhook_count == 0; });
}

// ---- sending

bool delivery_schedule::may_have(slot const& slot) const {
    auto const& holder = slot.holder;
    auto const extra = slot.queue.in_flight();  // beside the one that it may always have
    auto const free_bytes = bytes_in_flight_max - std::min(bytes_, bytes_in_flight_max);
    if (extra == 0) return holder.bytes <= free_bytes;
    if (shared_ >= shared_in_flight_max) return false;
    auto const free_count = shared_in_flight_max - shared_;
    return extra <= std::max<std::size_t>(1, free_count / share) && holder.shared < free_count &&
           slot.bytes <= free_bytes / share && holder.bytes <= free_bytes / 2;
}

std::optional<attempt> delivery_schedule::take_attempt(base::instant const& now) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        auto& slot = *slots_[first_++ % slots_.size()];
        auto& queue = slot.queue;
        auto const sequence = may_have(slot) ? queue.next(now) : std::nullopt;
        if (!sequence) continue;
        if (queue.in_flight() > 1) ++shared_, ++slot.holder.shared;
        flights_.emplace(++last_number_, flight{.webhook = queue.id(), .sequence = *sequence});
        auto const predecessor = std::exchange(slot.last_number, last_number_);
        return attempt{.number = last_number_,
                       .webhook = queue.id(),
                       .sequence = *sequence,
                       .is_ordered = queue.is_ordered(),
                       .predecessor = queue.in_flight() > 1 ? predecessor : 0};
    }
    return std::nullopt;
}

void delivery_schedule::weigh(std::uint64_t number, std::size_t bytes) {
    auto& flight = flights_.at(number);
    auto& slot = *find(flight.webhook);
    for (auto* const sum : {&flight.bytes, &slot.bytes, &slot.holder.bytes, &bytes_}) *sum += bytes;
}

// Its queue, where it is in flight no more for the schedule; null: it was not in flight.
webhook_queue* delivery_schedule::land(std::uint64_t number, model::id& sequence) {
    auto const place = flights_.find(number);
    if (place == flights_.end()) return nullptr;
    auto const flight = place->second;
    flights_.erase(place);
    auto& slot = *find(flight.webhook);
    if (slot.queue.in_flight() > 1) --shared_, --slot.holder.shared;
    for (auto* const sum : {&slot.bytes, &slot.holder.bytes, &bytes_}) *sum -= flight.bytes;
    sequence = flight.sequence;
    return &slot.queue;
}

void delivery_schedule::finish(attempt_result&& result, base::wall_ms now) {
    model::id sequence = 0;
    auto* const queue = land(result.number, sequence);
    if (queue == nullptr) return;
    auto const state = queue->finish(sequence, std::move(result), now, jitter_);
    if (state == model::delivery_state::delivered) {
        ++counters_.delivered;
        return;
    }
    ++counters_.attempts_failed;
    if (state == model::delivery_state::failed) ++counters_.failed;
}

void delivery_schedule::give_back(std::uint64_t number) {
    model::id sequence = 0;
    if (auto* const queue = land(number, sequence)) queue->give_back(sequence);
}

void delivery_schedule::give_back_all() {
    while (!flights_.empty()) give_back(flights_.begin()->first);
    remove_finished();
}

void delivery_schedule::abandon(std::uint64_t number, base::wall_ms now) {
    model::id sequence = 0;
    auto* const queue = land(number, sequence);
    if (queue == nullptr) return;
    queue->abandon(sequence, now);
    ++counters_.failed;
}

// ---- committing

std::size_t delivery_schedule::uncommitted() const {
    std::size_t sum = 0;
    for (auto const& slot : slots_) sum += slot->queue.results();
    return sum;
}

std::vector<report> delivery_schedule::take_reports(base::wall_ms now) {
    std::vector<report> reports;
    if (!committing_.empty()) return reports;
    std::size_t results = 0;
    for (std::size_t i = 0; i < slots_.size() && results < results_per_commit; ++i) {
        // From where the last commit ended: none waits for ever.
        auto& queue = slots_[(first_report_ + i) % slots_.size()]->queue;
        if (!queue.has_report(now)) continue;
        reports.push_back(queue.take_report(now));
        results += reports.back().deliveries.size();
        committing_.push_back(queue.id());
    }
    if (!committing_.empty()) {
        auto const position = std::ranges::upper_bound(
            slots_, committing_.back(), {}, [](auto const& slot) { return slot->queue.id(); });
        first_report_ = static_cast<std::size_t>(position - slots_.begin());
    }
    return reports;
}

void delivery_schedule::settle(bool committed) {
    for (auto const id : std::exchange(committing_, {})) find(id)->queue.settle(committed);
    remove_finished();
}

// ---- time and state

base::wall_ms delivery_schedule::next_time(base::instant const& now) {
    auto time = no_time;
    if (!may_send()) return time;
    for (auto const& slot : slots_)
        if (may_have(*slot)) time = std::min(time, slot->queue.next_time(now));
    return time;
}

base::wall_ms delivery_schedule::report_time() const {
    auto time = no_time;
    if (!committing_.empty()) return time;
    for (auto const& slot : slots_) time = std::min(time, slot->queue.report_time());
    return time;
}

delivery_schedule::state delivery_schedule::look() const {
    state sum;
    sum.webhook_count = slots_.size();
    for (auto const& slot : slots_) {
        auto const& queue = slot->queue;
        sum.in_flight += queue.in_flight();
        sum.pending += queue.pending();
        if (queue.is_retired()) continue;
        sum.slowest = sum.enabled == 0 ? queue.position() : std::min(sum.slowest, queue.position());
        ++sum.enabled;
    }
    return sum;
}

}  // namespace latchkey::delivery
