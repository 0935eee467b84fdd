// One ask at a time goes to the engine, and it carries the wants of many keys: those reported since
// the last one, and on a heartbeat all. Keys are in stripes, each under its lock; tokens of a key
// lie in an entry of atomics which workers spend without one. The state of a question ends in one
// function, whether it was answered or lost, so that no want stays behind.
#include "cluster/quota.hpp"

#include <algorithm>
#include <utility>

#include "cluster/quota_times.hpp"

namespace latchkey::cluster {

quota::quota(quota_options options, std::unique_ptr<quota_table> table)
    : options_(std::move(options)), table_(std::move(table)), process_(options_.process) {}

base::result<std::unique_ptr<quota>> quota::make(quota_options options) {
    auto table = quota_table::make(options.keys);
    if (!table) return table.error();
    return std::unique_ptr<quota>(new quota(std::move(options), std::move(*table)));
}

std::optional<quota::question> quota::next_ask(boot_ns now) {
    thread_.check();
    if (question_) {
        if (now - question_->start <= quota_answer_max) return std::nullopt;
        on_lost(question_->id, now);
    }
    if (!is_member_ || is_cut_off_ || !clock_.is_valid(now)) {
        if (now < next_join_) return std::nullopt;
        next_join_ = now + quota_retry;
        return send(now, {.process = process_});
    }
    replicate::protocol::quota_ask ask{.process = process_, .presence = presence_ + 1};
    bool const is_heartbeat = now >= next_heartbeat_;
    collect(ask.wants, now, is_heartbeat);
    if (ask.wants.empty() && !is_heartbeat) return std::nullopt;
    next_heartbeat_ = now + quota_heartbeat;

    ask.clock = clock_.estimate(now);
    ask.reserve = members_.reserve(now);
    ask.share = replicate::protocol::quota_whole / static_cast<std::uint32_t>(members_.count());
    // The engine may have any of the shares that this node asked for since the last answer: the
    // least of them is used.
    share_low_ = std::min(share_low_, ask.share);
    share_.store(std::min(share_.load(), share_low_));
    leave_share(now);
    return send(now, std::move(ask));
}

quota::question quota::send(boot_ns now, replicate::protocol::quota_ask ask) {
    ++count_.asks;
    question_ = ask_state{.id = ++last_id_, .start = now, .joins = ask.presence == 0, .keys = {}};
    for (auto const& each : ask.wants) question_->keys.push_back(each.key);
    return {last_id_, std::move(ask)};
}

// Once an ask is sent, other nodes may take this one for present, so its workers must spend nothing
// of the share any more. Taking each stripe's lock once waits for those that had begun to.
void quota::leave_share(boot_ns now) {
    if (now + quota_heartbeat >= share_start_.exchange(never))
        for (auto& each : stripes_) std::lock_guard const passed(each.mutex);
    share_start_.store(now + quota_silence);
}

boot_ns quota::next_time() const {
    if (question_) return question_->start + quota_answer_max + 1;
    if (!is_member_ || is_cut_off_) return next_join_;
    return has_more_ ? 0 : next_heartbeat_;
}

void quota::collect(std::vector<replicate::protocol::quota_want>& wants, boot_ns now, bool all) {
    has_more_ = false;
    for (auto& place : stripes_) {
        std::lock_guard const held(place.mutex);
        std::size_t count = 0;
        while (count < place.reports.size() && consider(place, place.reports[count], now, wants))
            ++count;
        has_more_ = has_more_ || count < place.reports.size();
        place.reports.erase(place.reports.begin(),
                            place.reports.begin() + static_cast<std::ptrdiff_t>(count));
        if (!all) continue;
        for (auto each = place.keys.begin(); each != place.keys.end();) {
            auto& entry = *table_->find(each->first);
            // Charges of the share must not be forgotten before the share was left.
            if (each->second.is_idle(entry, now) && now < share_start_.load()) {
                entry.policy.store(0, std::memory_order_release);
                entry.clear();
                each = place.keys.erase(each);
                continue;
            }
            if (!consider(place, each->first, now, wants)) has_more_ = true;
            ++each;
        }
    }
}

// False: there is no room for it.
bool quota::consider(stripe& place, model::id id, boot_ns now,
                     std::vector<replicate::protocol::quota_want>& wants) {
    auto const row = place.keys.find(id);
    if (row == place.keys.end()) return true;
    auto& [_, key] = *row;
    auto& entry = *table_->find(id);
    key.count_use(entry, now);
    if (key.want != 0) return true;  // it is in this ask
    if (wants.size() >= replicate::protocol::quota_wants_max) return false;
    entry.is_reported.store(false, std::memory_order_relaxed);
    key.plan(entry, now, round_trip_);
    if (key.want == 0) return true;
    wants.push_back({.key = id,
                     .policy = key.policy,
                     .tokens = key.want,
                     .hold_ns = key.window + clock_.lag_max(),
                     .rules = {key.rule_list().begin(), key.rule_list().end()},
                     .origins = key.origins});
    return true;
}

void quota::on_answer(std::uint32_t id, replicate::protocol::quota_answer const& answer,
                      boot_ns now) {
    thread_.check();
    if (!question_ || question_->id != id) return;
    auto const start = question_->start;
    if (now - start > quota_answer_max) return on_lost(id, now);
    is_cut_off_ = false;
    if (!answer.is_member) {
        // Refused where an earlier process of the node has a higher number, since the machine's
        // clock was set back: the next try is beyond it.
        if (question_->joins)
            process_ += quota_process_step;
        else
            begin_anew();
        return end_question(true);
    }
    members_.update(answer.members, options_.node, start);
    if (question_->joins) {
        is_member_ = true;
        next_heartbeat_ = 0;
        clock_.adopt(answer.clock, start, now);
        return end_question(false);
    }
    ++presence_;
    share_.store(
        std::min(std::exchange(share_low_, replicate::protocol::quota_whole), answer.share));
    round_trip_ += (now - start - round_trip_) / 8;
    for (auto const& each : answer.grants) deliver(each, start, now);
    clock_.confirm(answer.clock, start, now);
    end_question(false);
}

void quota::deliver(replicate::protocol::quota_grant const& grant, boot_ns start, boot_ns now) {
    auto& place = stripe_of(grant.key);
    std::lock_guard const held(place.mutex);
    auto const row = place.keys.find(grant.key);
    if (row == place.keys.end() || row->second.policy != grant.policy) return;
    auto& key = row->second;
    std::array<boot_ns, model::rate_limits_max> arrivals;
    auto const count = std::min(grant.arrivals.size(), arrivals.size());
    for (std::size_t i = 0; i < count; ++i) arrivals[i] = clock_.local(grant.arrivals[i]);
    count_.granted += grant.tokens;
    count_.forfeited += key.deliver(*table_->find(grant.key), now,
                                    {.tokens = grant.tokens,
                                     .end = start + key.window,
                                     .refusal = grant.wait_ns == 0 ? 0 : start + grant.wait_ns,
                                     .arrivals = std::span(arrivals).first(count)});
}

void quota::on_lost(std::uint32_t id, boot_ns now) {
    thread_.check();
    if (!question_ || question_->id != id) return;
    ++count_.losses;
    is_cut_off_ = true;
    next_join_ = now + quota_retry;
    end_question(true);
}

// Tokens that were wanted and have not come are wanted no more or, with `again`, once more.
void quota::end_question(bool again) {
    for (auto const id : question_->keys) {
        auto& place = stripe_of(id);
        std::lock_guard const held(place.mutex);
        auto const row = place.keys.find(id);
        if (row == place.keys.end() || row->second.want == 0) continue;
        row->second.want = 0;
        if (again) report(place, *table_->find(id), id);
    }
    question_.reset();
}

void quota::hold_lease(boot_ns end, boot_ns now) {
    thread_.check();
    if (now >= lease_end_.load()) {
        if (question_) end_question(true);
        begin_anew();
    }
    lease_end_.store(end);
}

// As another process: what this one had, the engine may have given to others.
void quota::begin_anew() {
    is_member_ = false;
    ++process_;
    presence_ = 0;
    share_.store(0);
    share_low_ = replicate::protocol::quota_whole;
    next_join_ = 0;
}

}  // namespace latchkey::cluster
