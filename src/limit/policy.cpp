#include "limit/policy.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/time_units.hpp"

namespace latchkey::limit {
namespace {

rule prepare_one(model::rate_limit const& limit, std::uint8_t slot, std::uint64_t generation) {
    // What a client names is refused there, and a record with such limits is none, in what follows
    // too (model::decode_key).
    base::check(limit.limit > 0 && limit.window_seconds > 0,
                "a rate limit without tokens or window");
    base::check(slot < model::rate_limits_max, "a rate limit's slot outside the line");
    rule result;
    result.interval_ns = model::token_interval_ns(limit);
    // Bounded here too: a record of an earlier version may have more.
    result.burst = std::min(limit.burst != 0 ? limit.burst : limit.limit, model::burst_max(limit));
    result.capacity_ns = result.burst * result.interval_ns;
    result.limit = limit.limit;
    result.window_seconds = limit.window_seconds;
    result.slot = slot;
    result.generation = generation;
    result.name = limit.name;
    result.item.append(", \"").append(limit.name).append("\";r=");
    return result;
}

std::uint64_t mix_rule(std::uint64_t hash, rule const& rule) {
    hash = base::mix(hash, static_cast<std::uint64_t>(rule.interval_ns));
    hash = base::mix(hash, std::uint64_t{rule.burst} << 8 | rule.slot);
    return base::mix(hash, rule.generation) | 1;
}

// A vendor's parameter has its prefix (draft-ietf-httpapi-ratelimit-headers-11 §3.1).
constexpr std::string_view burst_parameter = ";latchkey-burst=";

// The size of an item, `"name";q=600;w=60` or `"name";r=599;t=1`, with the comma before it. Names
// are [a-z][a-z0-9_-]*, so a quoted string needs no escapes (RFC 9651 §3.3.3).
constexpr std::size_t item_bytes_max(std::string_view name) {
    return name.size() + 2 * base::number_bytes_max + std::string_view(", \"\";q=;w=").size();
}

}  // namespace

policy prepare(std::span<model::rate_limit const> limits, std::span<std::uint8_t const> slots,
               std::span<std::uint64_t const> generations) {
    base::check(limits.size() == slots.size(), "a rate limit without a slot");
    base::check(generations.empty() || generations.size() == limits.size(),
                "a rate limit without a generation");
    base::check(limits.size() <= model::rate_limits_max, "more rate limits than slots");
    static std::atomic<std::uint64_t> versions{0};
    limit::policy policy;
    policy.version = versions.fetch_add(1, std::memory_order_relaxed) + 1;
    policy.rules.reserve(limits.size());
    unsigned used_slots = 0;
    for (std::size_t i = 0; i < limits.size(); ++i) {
        policy.rules.push_back(
            prepare_one(limits[i], slots[i], generations.empty() ? 0 : generations[i]));
        policy.wide = policy.wide || slots[i] >= line_slots;
        policy.content = mix_rule(policy.content, policy.rules.back());
        base::check((used_slots >> slots[i] & 1u) == 0, "two rate limits in one slot");
        used_slots |= 1u << slots[i];
        base::string_writer output(
            policy.header,
            item_bytes_max(limits[i].name) + burst_parameter.size() + base::number_bytes_max);
        if (i != 0) output.put(", ");
        output.put('"').put(limits[i].name).put("\";q=").number(limits[i].limit);
        output.put(";w=").number(limits[i].window_seconds);
        if (auto const burst = policy.rules.back().burst; burst != limits[i].limit)
            output.put(burst_parameter).number(burst);
        policy.levels_bytes_max += item_bytes_max(limits[i].name);
    }
    auto const order = std::span(policy.by_slot).first(limits.size());
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::uint8_t left, std::uint8_t right) { return slots[left] < slots[right]; });
    return policy;
}

predecessor predecessor_of(policy const& policy, model::key const& earlier) {
    predecessor result{.key = earlier.id};
    result.slots.fill(predecessor::no_slot);
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
        auto const limit =
            std::ranges::find(earlier.rate_limits, policy.rules[i].name, &model::rate_limit::name);
        if (policy.rules[i].generation != 0 || limit == earlier.rate_limits.end()) continue;
        auto const place = static_cast<std::size_t>(limit - earlier.rate_limits.begin());
        result.slots[i] = earlier.limit_slots[place];
        if (!earlier.limit_generations.empty())
            result.generations[i] = earlier.limit_generations[place];
    }
    return result;
}

std::int64_t fill_time_ns(policy const& policy) {
    std::int64_t time = 0;
    for (auto const& rule : policy.rules) time = std::max(time, rule.capacity_ns);
    return time;
}

}  // namespace latchkey::limit
