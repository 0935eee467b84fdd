#include "cluster/quota_key.hpp"

#include <algorithm>
#include <cmath>

#include "base/time_units.hpp"
#include "cluster/quota_times.hpp"

namespace latchkey::cluster {
namespace {

constexpr base::mono_ns count_min = 20 * base::millisecond;
// Seconds of smoothing; less where enough tokens were spent to tell that the demand has grown.
constexpr double smoothing = 2, attack = 0.05;
constexpr std::uint32_t attack_tokens = 8;
constexpr double rate_min = 0.5;  // below, nothing is asked for ahead of need
constexpr double rate_idle = 0.02;
constexpr base::mono_ns window_min = 20 * base::millisecond;
// Where tokens are scarce they are asked for, and refused, for so long at once.
constexpr base::mono_ns scarce_horizon = 20 * base::millisecond;

double seconds(base::mono_ns duration) {
    return static_cast<double>(duration) / base::second;
}

// Tokens hold for a quarter of the time in which the fastest bucket refills.
base::mono_ns window_of(std::span<replicate::protocol::quota_rule const> rules,
                        base::mono_ns round_trip) {
    auto window = quota_window_max;
    for (auto const& rule : rules) window = std::min(window, rule.burst * rule.interval_ns / 4);
    return std::clamp(window, std::min(quota_window_max, std::max(window_min, 4 * round_trip)),
                      quota_window_max);
}

}  // namespace

replicate::protocol::quota_rule to_quota_rule(limit::rule const& rule) {
    return {rule.slot, rule.generation, rule.interval_ns, rule.burst};
}

void quota_key::set_policy(limit::policy const& limits, boot_ns now) {
    policy = limits.content;
    rule_count = static_cast<std::uint8_t>(limits.rules.size());
    std::ranges::transform(limits.rules, rules.begin(), to_quota_rule);
    origins.clear();
    for (auto const& each : limits.predecessors)
        for (std::uint8_t i = 0; i < rule_count; ++i)
            if (each.slots[i] != limit::predecessor::no_slot)
                origins.push_back({i, each.key, each.slots[i], each.generations[i]});
    waiting = left = 0;
    ++answers;
    share_start = 0;
    share_floor = now;
}

void quota_key::count_use(quota_entry const& entry, boot_ns now) {
    auto const tokens = entry.tokens();
    spent += left - std::min(left, tokens);
    left = tokens;
    auto const elapsed = now - count_start;
    if (elapsed < count_min) return;
    double const sample = spent / seconds(elapsed);
    bool const has_grown = sample > rate && spent >= attack_tokens;
    rate +=
        (sample - rate) * seconds(elapsed) / (seconds(elapsed) + (has_grown ? attack : smoothing));
    count_start = now;
    spent = 0;
}

bool quota_key::is_idle(quota_entry const& entry, boot_ns now) const {
    return rate < rate_idle && waiting == 0 && want == 0 && entry.tokens_at(now) == 0;
}

double quota_key::level(quota_entry const& entry, boot_ns now) const {
    double lowest = 1;
    for (std::size_t i = 0; i < rule_count; ++i) {
        auto const debt = entry.arrivals[i].load(std::memory_order_relaxed) - now;
        auto const capacity = replicate::protocol::quota_capacity(rules[i]);
        lowest = std::min(lowest, 1 - static_cast<double>(debt) / static_cast<double>(capacity));
    }
    return lowest;
}

void quota_key::plan(quota_entry const& entry, boot_ns now, base::mono_ns round_trip) {
    window = window_of(rule_list(), round_trip);
    // A demand that has just begun shows in what was spent since, as far as that is no chance.
    double const sure = spent - 2 * std::sqrt(static_cast<double>(spent));
    double const recent = std::max(rate, sure / seconds(std::max(now - count_start, count_min)));
    // Below half, tokens that may not be spent are left to the others.
    bool const is_scarce = level(entry, now) < 0.5;
    auto const horizon = is_scarce ? 2 * round_trip + scarce_horizon : window / 2;
    double const need = recent * seconds(std::min(horizon, window));
    auto const usable = entry.tokens_at(now + window / 4);
    auto const ahead = static_cast<std::uint32_t>(
        std::min(is_scarce ? std::floor(need) : std::ceil(need), double{quota_tokens_max}));
    want = waiting;
    if (recent >= rate_min && usable < (ahead + 1) / 2) want += ahead - usable;
    std::uint32_t burst = quota_tokens_max;
    for (auto const& rule : rule_list()) burst = std::min(burst, rule.burst);
    want = std::min(want, burst);
}

std::uint32_t quota_key::deliver(quota_entry& entry, boot_ns now, delivery const& grant) {
    constexpr auto order = std::memory_order_relaxed;
    std::uint32_t forfeit = 0;
    origins.clear();
    if (grant.tokens != 0) {
        count_use(entry, now);
        forfeit = entry.put(now, grant.tokens, grant.end);
        left += grant.tokens - forfeit;
        entry.renewal.store(grant.end - window / 4, order);
    }
    base::mono_ns pause = scarce_horizon;
    for (std::size_t i = 0; i < grant.arrivals.size() && i < rule_count; ++i) {
        entry.arrivals[i].store(grant.arrivals[i], order);
        pause = std::min(pause, rules[i].burst * rules[i].interval_ns / 8);
    }
    // Reported when half of what was granted is gone.
    entry.low.store(grant.tokens < 2 ? 0 : grant.tokens / 2, order);
    entry.refusal.store(
        grant.refusal == 0 ? 0 : std::clamp(grant.refusal, now + pause, now + quota_refusal_max),
        order);
    waiting = want = 0;
    ++answers;
    return forfeit;
}

}  // namespace latchkey::cluster
