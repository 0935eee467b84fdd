// Token buckets that the nodes of a cluster share: what a node gets that asks for tokens, as a
// function of the rows in the engine. The helper runs it within a transaction, tests in memory.
//
//     lock and read the buckets of `buckets_of(ask)`, then read the members
//     auto const answer = grant(rows, ask, node, is_alive);     // changes `rows`
//     write what has changed, commit
//
// GCRA as in limit/buckets.hpp, at the clock e of the ask: n tokens of a limit with interval T are
// granted when max(TAT, e) + n × T ≤ e + burst × T, and then TAT becomes max(TAT, e + hold) +
// n × T, as if all had been spent at the end of the time for which they hold: whenever within it
// they are spent, at most burst + t / T are spent in any interval of t. All limits of a key grant
// the same number, and as many as fit if those are fewer.
//
// Time is that of the nodes' own clocks (cluster/quota_clock.hpp says why it never gains): no clock
// of the engine matters, so a failover to a server with another time gives nobody tokens.
//
// A member that may have lost the engine spends its share of each limit by itself, from an empty
// bucket with a 32nd part of the burst, which grants leave out for that. While such members are
// silent, tokens cost the others 1 / (1 - reserve) times as much: what all spend together is below
// the limit. A member leaves its share before it asks again. docs/decisions/cluster-limits.md has
// the proof.
//
// Values; no thread, no clock, no errors.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::replicate::protocol {

// Added to every interval: clocks of machines run at rates that differ by less (NTP slews by 500
// millionths at most).
constexpr std::int64_t quota_interval(std::int64_t interval_ns) {
    return interval_ns + interval_ns / 2000 + 1;
}
// The part of a bucket that is left to shares, in time as all of a bucket. Small buckets leave
// none: they have no token to spare.
inline constexpr std::uint32_t quota_share_burst_min = 64;
constexpr std::int64_t quota_share_part(quota_rule const& rule) {
    if (rule.burst < quota_share_burst_min) return 0;
    return rule.burst * quota_interval(rule.interval_ns) / 32;
}
// The part of a limit's burst, as time, that grants can use; the rest is for shares.
constexpr std::int64_t quota_capacity(quota_rule const& rule) {
    return rule.burst * quota_interval(rule.interval_ns) - quota_share_part(rule);
}
// A token's time where only so many millionths of the rate are there; share is not 0.
std::int64_t quota_cost(quota_rule const& rule, std::uint32_t share);

// Beyond the debt of an empty bucket, and beyond every time for which tokens hold: a TAT further
// ahead comes from an earlier, slower setting of the limit, and is lowered to this.
inline constexpr std::int64_t quota_skew_max_ns = 3'000'000'000;

struct quota_bucket {
    std::int64_t key = 0;
    std::uint8_t slot = 0;
    std::uint64_t generation = 0;
    auto operator<=>(quota_bucket const&) const = default;
};
struct quota_level {
    cluster_ns arrival = 0;  // TAT
    cluster_ns clock = 0;    // the latest at which it was charged
    bool operator==(quota_level const&) const = default;
};
// No row: a full bucket. Rows whose arrival is a minute behind the clock can be deleted.
struct quota_rows {
    std::map<std::string, quota_member, std::less<>> members;  // by name
    std::map<quota_bucket, quota_level> buckets;
};

// Those that an ask needs, in the order in which they are locked.
std::vector<quota_bucket> buckets_of(quota_ask const& ask);

// `is_alive`: false only if that process certainly admits nothing any more: its lease as a node
// ended, and this row has not changed since. Members that are not are removed.
quota_answer grant(quota_rows& rows, quota_ask const& ask, std::string_view node,
                   base::function_ref<bool(quota_member const&)> is_alive);

}  // namespace latchkey::replicate::protocol
