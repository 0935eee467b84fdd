// The workers' side. A token is taken from the key's entry with atomic operations alone; a stripe's
// lock is taken only where the entry has none: then the policy is renewed, the node's own share is
// spent (GCRA from an empty bucket), or the key is reported and the request waits.
#include <algorithm>

#include "base/prefetch.hpp"
#include "base/time_units.hpp"
#include "cluster/quota.hpp"
#include "cluster/quota_times.hpp"

namespace latchkey::cluster {
namespace {

constexpr auto order = std::memory_order_relaxed;

bool exceeds_burst(limit::policy const& policy, std::uint32_t cost) {
    return std::ranges::any_of(policy.rules,
                               [&](limit::rule const& rule) { return cost > rule.burst; });
}

limit::decision refuse_permanently(limit::policy const& policy) {
    limit::decision result;
    result.count = static_cast<std::uint8_t>(policy.rules.size());
    result.violated = static_cast<std::uint8_t>((1u << result.count) - 1);
    result.retry_after = limit::decision::never;
    return result;
}

std::uint32_t retry_seconds(std::int64_t wait) {
    return std::max(1u, limit::whole_seconds(std::max<std::int64_t>(wait, 0)));
}

}  // namespace

quota_verdict quota::admit(model::id key, limit::policy const& policy, boot_ns now,
                           std::uint32_t cost, quota_ticket& ticket) {
    if (policy.rules.empty()) return {};
    auto* const entry = table_->find(key);
    if (entry == nullptr) [[unlikely]]
        return {.decision = refuse_permanently(policy)};
    if (cost == 0) return {.decision = levels(key, policy, now, 0)};
    if (entry->policy.load(std::memory_order_acquire) == policy.content) [[likely]] {
        if (entry->take(now, cost) != 0) [[likely]] {
            if (entry->is_due(now)) [[unlikely]]
                report_now(*entry, key);
            return {.decision = levels(key, policy, now, 0)};
        }
        if (now < entry->refusal.load(order)) return {.decision = refuse(key, policy, now, cost)};
    }
    if (exceeds_burst(policy, cost)) return {.decision = refuse_permanently(policy)};
    bool must_wake = false;
    auto const verdict = wait(key, policy, now, cost, ticket, must_wake);
    if (must_wake) options_.wake();
    return verdict;
}

// Without tokens: refused, of the share, or to wait.
quota_verdict quota::wait(model::id key, limit::policy const& policy, boot_ns now,
                          std::uint32_t cost, quota_ticket& ticket, bool& must_wake) {
    auto& entry = *table_->find(key);
    auto& place = stripe_of(key);
    std::lock_guard const held(place.mutex);
    auto& state = place.keys[key];
    if (state.policy != policy.content) {
        entry.policy.store(0, std::memory_order_release);
        entry.clear();
        state.set_policy(policy, now);
        entry.policy.store(policy.content, std::memory_order_release);
    }
    if (entry.take(now, cost) != 0) return {.decision = levels(key, policy, now, 0)};
    if (now < entry.refusal.load(order)) return {.decision = refuse(key, policy, now, cost)};
    if (now >= lease_end_.load()) return {.state = quota_state::behind, .decision = {}};
    if (auto const start = share_start_.load(); now >= start)
        return spend_share(state, now, cost, start);
    bool const is_new = ticket.start == 0;
    if (is_new) ticket.start = now;
    if (now - ticket.start >= quota_patience) return {.state = quota_state::behind, .decision = {}};
    if (is_new || ticket.answers != state.answers) {
        ticket.answers = state.answers;
        state.waiting += cost;
        must_wake = !entry.is_reported.load(order);
        report(place, entry, key);
    }
    return {.state = quota_state::pending, .decision = {}};
}

// From an empty bucket: the part of each limit that is this node's without an engine. Its burst is
// what grants leave out (replicate::protocol::quota_share_part).
quota_verdict quota::spend_share(quota_key& key, boot_ns now, std::uint32_t cost, boot_ns start) {
    quota_verdict const refusal{.state = quota_state::behind, .decision = {}};
    auto const share = share_.load();
    if (share == 0) return refusal;
    bool const is_new = key.share_start != start;
    key.share_start = start;
    limit::decision decision;
    decision.count = key.rule_count;
    std::int64_t wait = 0;
    std::array<std::int64_t, model::rate_limits_max> costs;
    for (std::size_t i = 0; i < key.rule_count; ++i) {
        auto const capacity = replicate::protocol::quota_share_part(key.rules[i]);
        costs[i] = replicate::protocol::quota_cost(key.rules[i], share);
        if (capacity / costs[i] < cost) return refusal;
        auto& arrival = key.share_arrivals[i];
        if (is_new) arrival = std::max(start, key.share_floor) + capacity;
        auto const debt = std::max<std::int64_t>(0, arrival - now);
        auto const rule_wait = debt + cost * costs[i] - capacity;
        if (rule_wait > 0) decision.violated |= 1u << i;
        wait = std::max(wait, rule_wait);
    }
    for (std::size_t i = 0; i < key.rule_count; ++i) {
        auto& arrival = key.share_arrivals[i];
        if (decision.admitted()) arrival = std::max(arrival, now) + cost * costs[i];
        auto const debt = std::max<std::int64_t>(0, arrival - now);
        decision.levels[i] =
            limit::level_of(debt, replicate::protocol::quota_share_part(key.rules[i]), costs[i]);
    }
    if (decision.admitted())
        share_charges_.fetch_add(1, order);
    else
        decision.retry_after = retry_seconds(wait);
    return {.decision = decision};
}

limit::decision quota::levels(model::id key, limit::policy const& policy, boot_ns now,
                              std::uint32_t own) const {
    limit::decision result;
    result.count = static_cast<std::uint8_t>(policy.rules.size());
    auto const* const entry = table_->find(key);
    bool const is_known = entry != nullptr && entry->policy.load(order) == policy.content;
    std::int64_t const tokens = is_known ? own + std::int64_t{entry->tokens_at(now)} : 0;
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
        auto const& rule = policy.rules[i];
        std::int64_t const arrival =
            is_known ? entry->arrivals[i].load(order) - tokens * rule.interval_ns : 0;
        result.levels[i] = limit::level_of(std::max<std::int64_t>(0, arrival - now), rule);
    }
    return result;
}

limit::decision quota::refuse(model::id key, limit::policy const& policy, boot_ns now,
                              std::uint32_t cost) const {
    if (exceeds_burst(policy, cost)) return refuse_permanently(policy);
    auto result = levels(key, policy, now, 0);
    auto const& entry = *table_->find(key);
    std::int64_t wait = entry.refusal.load(order) - now;
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
        auto const rule = to_quota_rule(policy.rules[i]);
        auto const rule_wait = entry.arrivals[i].load(order) - now +
                               cost * replicate::protocol::quota_interval(rule.interval_ns) -
                               replicate::protocol::quota_capacity(rule);
        if (rule_wait > 0) result.violated |= 1u << i;
        wait = std::max(wait, rule_wait);
    }
    // Others keep the limit from being used up (quota_members::reserve): all of them are the cause.
    if (result.violated == 0) result.violated = static_cast<std::uint8_t>((1u << result.count) - 1);
    result.retry_after = retry_seconds(wait);
    // Tokens that the engine keeps for other nodes are not there for this key.
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
        auto& level = result.levels[i];
        if ((result.violated >> i & 1) == 0 || level.remaining < cost) continue;
        level.remaining = cost - 1;
        level.window_seconds = result.retry_after;
    }
    return result;
}

void quota::prefetch(model::id key) const {
    if (auto const* const entry = table_->find(key)) base::prefetch(entry, sizeof *entry);
}

boot_ns quota::take(model::id key, limit::policy const& policy, boot_ns now, std::uint32_t tokens) {
    auto* const entry = table_->find(key);
    if (entry == nullptr || entry->policy.load(std::memory_order_acquire) != policy.content)
        return 0;
    if (entry->tokens_at(now) < 4 * tokens) return 0;
    auto const end = entry->take(now, tokens);
    if (end != 0 && entry->is_due(now)) report_now(*entry, key);
    return end;
}

void quota::report(stripe& place, quota_entry& entry, model::id key) {
    if (!entry.is_reported.exchange(true, order)) place.reports.push_back(key);
}

void quota::report_now(quota_entry& entry, model::id key) {
    {
        auto& place = stripe_of(key);
        std::lock_guard const held(place.mutex);
        report(place, entry, key);
    }
    options_.wake();
}

}  // namespace latchkey::cluster
