// The decision that charging a key's buckets made, and the RateLimit field that reports it (IETF
// draft-ietf-httpapi-ratelimit-headers-11). Values, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "base/text.hpp"
#include "limit/policy.hpp"

namespace latchkey::limit {

// The fill level of one bucket.
struct bucket_level {
    std::uint32_t remaining = 0;        // whole tokens
    std::uint32_t full_in_seconds = 0;  // rounded up
    // The effective window of §4.1.2: the time in which the rate of the limit gives what remains,
    // so that a client which spreads that over it can go on for ever. With nothing left, the time
    // until there is a token: a client that waits for the end of the window waits no longer.
    std::uint32_t window_seconds = 0;
};
bucket_level level_of(std::int64_t debt, std::int64_t capacity_ns, std::int64_t interval_ns);
bucket_level level_of(std::int64_t debt, rule const& rule);
// Nanoseconds as whole seconds, rounded up; the largest value where they are more.
std::uint32_t whole_seconds(std::int64_t ns);

// Rule by rule, in the order of the policy.
class decision {
  public:
    bool admitted() const { return violated == 0; }
    std::uint8_t violated = 0;  // bit i: rule i refused
    std::uint8_t count = 0;
    static_assert(model::rate_limits_max <= 8 * sizeof violated, "one bit per rule");
    std::array<bucket_level, model::rate_limits_max> levels{};
    // Whole seconds, 0 when admitted, else at least 1 and never too early: after exactly that time
    // the same cost is admitted if the key was not charged otherwise. `never` when waiting cannot
    // help.
    std::uint32_t retry_after = 0;
    static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
};
// Puts `"minute";r=599;t=60, "hour";…`, the value of RateLimit. Nothing for an unlimited key.
void put_levels(policy const& policy, decision const& decision, base::text_writer& output);

}  // namespace latchkey::limit
