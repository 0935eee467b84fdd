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

bucket_level level_of(std::int64_t debt, rule const& rule) {
    std::int64_t const left = std::max<std::int64_t>(0, rule.capacity_ns - debt);
    return {static_cast<std::uint32_t>(left / rule.interval_ns), whole_seconds(debt)};
}

void put_levels(policy const& policy, decision const& decision, base::text_writer& output) {
    for (std::size_t i = 0; i < decision.count; ++i) {
        auto const& [remaining, full_in_seconds] = decision.levels[i];
        std::string_view const item = policy.rules[i].item;
        output.put(i == 0 ? item.substr(2) : item)
            .number(remaining)
            .put(";t=")
            .number(full_in_seconds);
    }
}

}  // namespace latchkey::limit
