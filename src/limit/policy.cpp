#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/check.hpp"
#include "limit/buckets.hpp"

namespace latchkey::limit {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

rule prepare_one(model::rate_limit const& from, std::uint8_t slot) {
    base::check(from.limit > 0 && from.window_seconds > 0, "a rate limit of nothing");
    base::check(slot < model::rate_limits_max, "a rate limit's slot outside the line");
    rule one;
    std::int64_t const window_ns = std::int64_t{from.window_seconds} * second_ns;
    one.interval_ns = (window_ns + from.limit - 1) / from.limit;
    std::int64_t const tokens = from.burst != 0 ? from.burst : from.limit;
    // At least one, also for a window that is longer than any the model allows.
    std::int64_t const tokens_max = std::max<std::int64_t>(1, refill_max_ns / one.interval_ns);
    one.burst = static_cast<std::uint32_t>(std::min(tokens, tokens_max));
    one.capacity_ns = one.burst * one.interval_ns;
    one.limit = from.limit;
    one.window_seconds = from.window_seconds;
    one.slot = slot;
    one.item.append(", \"").append(from.name).append("\";r=");
    return one;
}

// Of an item: `"name";q=600;w=60` or `"name";r=599;t=1`, and the comma before it. Names are
// [a-z][a-z0-9_-]*, so that they need no escapes in a quoted string (RFC 9651 §3.3.3).
constexpr std::size_t item_bytes_max(std::string_view name) {
    return name.size() + 2 * base::number_bytes_max + std::string_view(", \"\";q=;w=").size();
}

}  // namespace

policy prepare(std::span<model::rate_limit const> limits, std::span<std::uint8_t const> slots) {
    base::check(limits.size() == slots.size(), "a rate limit without a slot");
    base::check(limits.size() <= model::rate_limits_max, "more rate limits than slots");
    static std::atomic<std::uint64_t> versions{0};
    policy made;
    made.version = versions.fetch_add(1, std::memory_order_relaxed) + 1;
    made.rules.reserve(limits.size());
    unsigned used = 0;
    for (std::size_t i = 0; i < limits.size(); ++i) {
        made.rules.push_back(prepare_one(limits[i], slots[i]));
        base::check((used >> slots[i] & 1u) == 0, "two rate limits in one slot");
        used |= 1u << slots[i];
        base::string_writer header(made.header, item_bytes_max(limits[i].name));
        if (i != 0) header.put(", ");
        header.put('"').put(limits[i].name).put("\";q=").number(limits[i].limit);
        header.put(";w=").number(limits[i].window_seconds);
        made.standings_bytes_max += item_bytes_max(limits[i].name);
    }
    auto const order = std::span(made.by_slot).first(limits.size());
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::uint8_t left, std::uint8_t right) { return slots[left] < slots[right]; });
    return made;
}

void put_standings(policy const& rules, decision const& seen, base::text_writer& to) {
    for (std::size_t i = 0; i < seen.count; ++i) {
        auto const& [remaining, full_in_seconds] = seen.standings[i];
        std::string_view const item = rules.rules[i].item;
        to.put(i == 0 ? item.substr(2) : item).number(remaining).put(";t=").number(full_in_seconds);
    }
}

}  // namespace latchkey::limit
