// A turn is a fixed order of steps: results of the helper and of the writer come in, then one
// snapshot serves all readings, then attempts go out and reports are committed, one at a time. The
// schedule is made when the lease is won and dropped when it is lost, since only the store outlives
// a lease. Numbers of attempts go on, so late results match nothing.
#include "delivery/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "base/system/log.hpp"
#include "delivery/attempt_rendering.hpp"
#include "delivery/store_feed.hpp"
#include "domain/webhooks/webhook_lists.hpp"

namespace latchkey::delivery {
namespace {

constexpr base::mono_ns retry_commit_after = base::second;

base::mono_ns mono_of(base::wall_ms time, base::instant const& now) {
    constexpr base::wall_ms far = 3'600'000;
    return now.mono + std::clamp<base::wall_ms>(time - now.wall, 0, far) * base::millisecond;
}

}  // namespace

dispatcher::dispatcher(dispatcher_options options)
    : options_(std::move(options)),
      snapshot_(options_.store),
      reports_(options_.writer, options_.event) {
    if (options_.node != nullptr)
        lease_.emplace(options_.writer, options_.event, options_.node_name, options_.lease_length);
}

base::mono_ns dispatcher::turn(base::instant const& now) {
    hear_link(now);
    hear(now);
    if (lease_) lease_->hear();
    snapshot_.renew();
    look_at_webhooks(now);
    if (lease_) lease_->turn(snapshot_, now, webhooks_ != 0 && !is_draining_);
    bool const holds_lease = !lease_ || lease_->holds(now.mono);
    if (!holds_lease || (webhooks_ == 0 && schedule_ && schedule_->look().webhook_count == 0))
        forget();
    // Not before a report of the last schedule is committed, which this one would not know of.
    if (holds_lease && !schedule_ && webhooks_ != 0 && !reports_.is_busy()) begin(now);
    bool more = false;
    if (schedule_ && may_send()) {
        more = schedule_->read(store_feed(snapshot_), now.wall);
        send(now);
    }
    auto const last = schedule_ ? snapshot_.changes().last : 0;
    snapshot_.reset();
    if (schedule_) commit(now);
    hear_link(now);  // sends too
    publish(last);
    return next_turn(now, more);
}

base::mono_ns dispatcher::next_turn(base::instant const& now, bool more) {
    auto next = now.mono + (webhooks_ != 0 ? look_interval : idle_interval);
    if (!schedule_) return next;
    if (may_send() && has_room()) {
        if (more) return now.mono;
        next = std::min(next, mono_of(schedule_->next_time(now), now));
    }
    if (!reports_.is_busy())
        next = std::min(next, std::max(mono_of(schedule_->report_time(), now), next_commit_));
    return std::max(next, now.mono + base::millisecond);
}

// The node may be behind while it has the lease still: what it would send may be old.
bool dispatcher::may_send() const {
    return !is_draining_ && failure_.empty() &&
           (options_.node == nullptr || options_.node->holds_lease(cluster::read_boot()));
}

bool dispatcher::has_room() const {
    return options_.link.capacity() != 0;
}

void dispatcher::begin(base::instant const& now) {
    schedule_ = std::make_unique<delivery::delivery_schedule>(options_.seed++, last_number_);
    next_webhooks_ = 0;
    webhooks_seen_ = 0;
    look_at_webhooks(now);
}

void dispatcher::forget() {
    if (!schedule_) return;
    counted_.delivered += schedule_->count().delivered;
    counted_.failed += schedule_->count().failed;
    counted_.attempts_failed += schedule_->count().attempts_failed;
    last_number_ = schedule_->last_number();
    schedule_.reset();
    must_settle_ = false;
    // Results that come later are not known to the next schedule, whose numbers go on.
}

// ---- the sender and the writer

void dispatcher::hear_link(base::instant const& now) {
    if (!failure_.empty()) return;
    auto arrivals = options_.link.turn();
    if (!arrivals) {
        failure_ = arrivals.error().message;
        base::log(base::severity::failure, "webhooks are not delivered any more: " + failure_);
        if (schedule_) schedule_->give_back_all();
        return;
    }
    if (!schedule_) return;
    for (auto const number : arrivals->lost_ids) schedule_->give_back(number);
    for (auto& each : arrivals->results)
        schedule_->finish({.number = each.number,
                           .status = each.status,
                           .duration_ms = each.duration_ms,
                           .retry_after_seconds = each.retry_after_seconds,
                           .error = std::move(each.error),
                           .response = std::move(each.response)},
                          now.wall);
}

void dispatcher::hear(base::instant const& now) {
    auto const outcome = reports_.take();
    if (!outcome) return;
    bool const committed = outcome->problem == base::problem::none;
    if (!committed) next_commit_ = now.mono + retry_commit_after;
    if (!committed && !commits_fail_)
        base::log(base::severity::warning,
                  "what became of webhooks' deliveries cannot be stored; it is tried again");
    commits_fail_ = !committed;
    if (std::exchange(must_settle_, false)) schedule_->settle(committed);
}

void dispatcher::send(base::instant const& now) {
    if (!schedule_->may_send()) return;
    while (has_room()) {
        auto const attempt = schedule_->take_attempt(now);
        if (!attempt) return;
        send_one(*attempt, now);
    }
}

void dispatcher::send_one(delivery::attempt const& attempt, base::instant const& now) {
    auto rendered = render(snapshot_, attempt, now);
    if (auto* const request = std::get_if<deliver::protocol::attempt>(&rendered)) {
        request->allow = options_.allow;
        schedule_->weigh(attempt.number, request->body.size());
        return options_.link.begin(*request);
    }
    auto& reason = std::get<unsendable>(rendered).reason;
    if (reason.empty()) return schedule_->abandon(attempt.number, now.wall);
    delivery::attempt_result result;
    result.number = attempt.number;
    result.error = std::move(reason);
    schedule_->finish(std::move(result), now.wall);
}

void dispatcher::commit(base::instant const& now) {
    if (reports_.is_busy() || now.mono < next_commit_) return;
    auto reports = schedule_->take_reports(now.wall);
    if (reports.empty()) return;
    domain::note_deliveries action;
    for (auto& each : reports)
        action.results.push_back({.webhook = each.webhook,
                                  .progress = each.progress,
                                  .deliveries = std::move(each.deliveries),
                                  .replays = std::move(each.replays),
                                  .end = each.end});
    domain::command command;
    command.action = std::move(action);
    command.required_scope = std::nullopt;
    must_settle_ = true;
    next_commit_ = now.mono + commit_interval;
    reports_.submit(std::move(command));
}

bool dispatcher::is_busy() const {
    return reports_.is_busy() || (schedule_ && schedule_->uncommitted() != 0);
}

bool dispatcher::give_up() {
    if (reports_.is_busy() && !reports_.take()) return false;
    if (!lease_) return true;
    if (!std::exchange(has_given_up_, true)) lease_->give_up();
    return !lease_->is_busy();
}

// ---- webhooks

void dispatcher::look_at_webhooks(base::instant const& now) {
    if (now.mono < next_webhooks_ || snapshot_.version() == webhooks_seen_) return;
    next_webhooks_ = now.mono + webhook_interval;
    webhooks_seen_ = snapshot_.version();
    std::vector<domain::webhook_entry> entries;
    domain::list_webhooks(snapshot_, std::nullopt, {.limit = domain::webhooks_max},
                          [&](auto const& entry) {
                              if (entry.webhook.is_enabled()) entries.push_back(entry);
                          });
    webhooks_ = entries.size();
    if (!schedule_) return;
    std::vector<model::id> enabled;
    for (auto const& each : entries) enabled.push_back(each.webhook.id);
    schedule_->keep_only(enabled);
    for (auto const& each : entries) {
        auto const replays = domain::read_replays(snapshot_, each.webhook.id);
        if (schedule_->has(each.webhook.id))
            schedule_->update(each.webhook, replays);
        else
            schedule_->add(each.webhook, each.progress, pending_of(each.webhook.id), replays);
    }
}

std::vector<delivery::pending_delivery> dispatcher::pending_of(model::id webhook) const {
    std::vector<delivery::pending_delivery> pending;
    domain::visit_pending_deliveries(snapshot_, webhook, 0, [&](model::delivery const& each) {
        auto const attempts = std::min(each.attempts.size(), model::delivery_attempts_max);
        pending.push_back({.sequence = each.sequence,
                           .type = each.type,
                           .attempts = static_cast<std::uint8_t>(attempts),
                           .due = each.next_attempt_at});
        return true;
    });
    return pending;
}

void dispatcher::publish(model::id last) {
    auto const set = [](std::atomic<std::uint64_t>& value, std::uint64_t number) {
        value.store(number, std::memory_order_relaxed);
    };
    auto counts = counted_;
    delivery::delivery_schedule::state state;
    if (schedule_) {
        auto const& own = schedule_->count();
        counts.delivered += own.delivered;
        counts.failed += own.failed;
        counts.attempts_failed += own.attempts_failed;
        state = schedule_->look();
    }
    set(metrics_.delivered, counts.delivered);
    set(metrics_.failed, counts.failed);
    set(metrics_.attempts_failed, counts.attempts_failed);
    set(metrics_.in_flight, state.in_flight);
    set(metrics_.pending, state.pending);
    bool const lags = state.enabled != 0 && last > state.slowest;
    set(metrics_.lag, lags ? static_cast<std::uint64_t>(last - state.slowest) : 0);
}

}  // namespace latchkey::delivery
