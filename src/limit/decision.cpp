#include "limit/decision.hpp"

#include <algorithm>

#include "base/time_units.hpp"

namespace latchkey::limit {

std::uint32_t whole_seconds(std::int64_t ns) {
    constexpr std::uint64_t maximum = std::numeric_limits<std::uint32_t>::max();
    constexpr std::uint64_t second = base::second;
    std::uint64_t const seconds = (static_cast<std::uint64_t>(ns) + second - 1) / second;
    return static_cast<std::uint32_t>(std::min(seconds, maximum));
}

bucket_level level_of(std::int64_t debt, std::int64_t capacity_ns, std::int64_t interval_ns) {
    std::int64_t const left = std::max<std::int64_t>(0, capacity_ns - debt);
    std::int64_t const tokens = left / interval_ns;
    // T is rounded up: without that nanosecond, 3 tokens of 3 in a second take no second more.
    std::int64_t const window =
        tokens == 0 ? debt - capacity_ns + interval_ns : tokens * (interval_ns - 1);
    return {static_cast<std::uint32_t>(tokens), whole_seconds(debt),
            std::max(1u, whole_seconds(window))};
}

bucket_level level_of(std::int64_t debt, rule const& rule) {
    return level_of(debt, rule.capacity_ns, rule.interval_ns);
}

void put_levels(policy const& policy, decision const& decision, base::text_writer& output) {
    for (std::size_t i = 0; i < decision.count; ++i) {
        auto const& level = decision.levels[i];
        std::string_view const item = policy.rules[i].item;
        output.put(i == 0 ? item.substr(2) : item)
            .number(level.remaining)
            .put(";t=")
            .number(level.window_seconds);
    }
}

}  // namespace latchkey::limit
