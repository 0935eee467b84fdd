// For each key the charges of all its limits are read first, the number of tokens is the smallest
// that one of them allows, and then all are written. Costs are computed in 128 bits and rounded up,
// and a level too far ahead is lowered, so no error of a clock lasts. Presence numbers sort asks: a
// late one changes nothing.
#include "helpers/replicate/protocol/quota_grant.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace latchkey::replicate::protocol {
namespace {

__extension__ typedef __int128 wide;

// So that nobody asks again at once.
constexpr std::int64_t wait_min_ns = 1'000'000;

// A bucket before the grant: the charge that it has, and what a token costs.
struct charge {
    quota_level level;
    std::int64_t debt = 0;
    std::int64_t cost = 0;
    std::int64_t capacity = 0;
    bool is_lowered = false;
};

// A bucket that was never charged begins with the highest level of its origins.
void inherit(quota_rows& rows, quota_want const& want) {
    for (auto const& origin : want.origins) {
        if (origin.rule >= want.rules.size()) continue;
        auto const& rule = want.rules[origin.rule];
        auto const source = rows.buckets.find({origin.key, origin.slot, origin.generation});
        if (source == rows.buckets.end()) continue;
        auto& own = rows.buckets[{want.key, rule.slot, rule.generation}];
        if (own.arrival < source->second.arrival) own = source->second;
    }
}

bool is_untouched(quota_rows const& rows, quota_want const& want) {
    return std::ranges::all_of(want.rules, [&](quota_rule const& rule) {
        auto const row = rows.buckets.find({want.key, rule.slot, rule.generation});
        return row == rows.buckets.end() || row->second == quota_level{};
    });
}

charge read_charge(quota_rows const& rows, quota_bucket const& bucket, quota_rule const& rule,
                   quota_ask const& ask) {
    charge result;
    result.capacity = quota_capacity(rule);
    if (ask.reserve < quota_whole) result.cost = quota_cost(rule, quota_whole - ask.reserve);
    if (auto const row = rows.buckets.find(bucket); row != rows.buckets.end())
        result.level = row->second;
    // Compared with the latest clock of the bucket, since an ask may arrive late.
    result.level.clock = std::max(result.level.clock, ask.clock);
    auto const latest =
        result.level.clock + rule.burst * quota_interval(rule.interval_ns) + quota_skew_max_ns;
    result.is_lowered = result.level.arrival > latest;
    if (result.is_lowered) result.level.arrival = latest;
    result.debt = std::max<std::int64_t>(0, result.level.arrival - ask.clock);
    return result;
}

std::int64_t tokens_of(charge const& charge) {
    if (charge.cost == 0) return 0;
    return std::max<std::int64_t>(0, charge.capacity - charge.debt) / charge.cost;
}

quota_grant grant_one(quota_rows& rows, quota_want const& want, quota_ask const& ask) {
    quota_grant result{.key = want.key, .policy = want.policy, .tokens = want.tokens};
    std::array<charge, quota_rules_max> charges;
    auto const count = std::min(want.rules.size(), charges.size());
    if (!want.origins.empty() && is_untouched(rows, want)) inherit(rows, want);
    for (std::size_t i = 0; i < count; ++i) {
        auto const& rule = want.rules[i];
        charges[i] = read_charge(rows, {want.key, rule.slot, rule.generation}, rule, ask);
        result.tokens = static_cast<std::uint32_t>(
            std::min<std::int64_t>(result.tokens, tokens_of(charges[i])));
    }
    for (std::size_t i = 0; i < count; ++i) {
        auto const& rule = want.rules[i];
        auto& [level, debt, cost, capacity, is_lowered] = charges[i];
        quota_bucket const bucket{want.key, rule.slot, rule.generation};
        if (result.tokens != 0) {
            level.arrival =
                std::max(level.arrival, ask.clock + want.hold_ns) + result.tokens * cost;
        }
        // Also without tokens: else it would be as far ahead of a later clock.
        if (result.tokens != 0 || is_lowered) rows.buckets[bucket] = level;
        if (result.tokens < want.tokens)
            result.wait_ns = std::max(
                {result.wait_ns, wait_min_ns, level.arrival - ask.clock + cost - capacity});
        result.arrivals.push_back(level.arrival);
    }
    return result;
}

// Takes the place of an earlier process of the node, which has ended.
bool join(quota_rows& rows, quota_ask const& ask, std::string_view node, cluster_ns newest) {
    auto const row = rows.members.find(node);
    if (row != rows.members.end() && row->second.process >= ask.process)
        return row->second.process == ask.process;
    rows.members[std::string(node)] = {
        .name = std::string(node), .process = ask.process, .clock = newest};
    return true;
}

// A share is raised only by what nobody else has.
void take_share(quota_rows const& rows, quota_member& own, std::uint32_t share) {
    std::uint64_t others = 0;
    for (auto const& [name, member] : rows.members)
        if (&member != &own) others += member.share;
    auto const left =
        static_cast<std::uint32_t>(quota_whole - std::min<std::uint64_t>(others, quota_whole));
    own.share = std::min(share, std::max(own.share, left));
}

}  // namespace

std::int64_t quota_cost(quota_rule const& rule, std::uint32_t share) {
    auto const cost = (wide{quota_interval(rule.interval_ns)} * quota_whole + share - 1) / share;
    return static_cast<std::int64_t>(
        std::min<wide>(cost, std::numeric_limits<std::int64_t>::max() / 4));
}

std::vector<quota_bucket> buckets_of(quota_ask const& ask) {
    std::vector<quota_bucket> list;
    for (auto const& want : ask.wants) {
        for (auto const& rule : want.rules) list.push_back({want.key, rule.slot, rule.generation});
        for (auto const& each : want.origins)
            list.push_back({each.key, each.slot, each.generation});
    }
    std::ranges::sort(list);
    auto const repeated = std::ranges::unique(list);
    list.erase(repeated.begin(), repeated.end());
    return list;
}

quota_answer grant(quota_rows& rows, quota_ask const& ask, std::string_view node,
                   base::function_ref<bool(quota_member const&)> is_alive) {
    quota_answer answer;
    // The clock outlives the members that told it.
    for (auto const& [name, member] : rows.members)
        answer.clock = std::max(answer.clock, member.clock);
    std::erase_if(rows.members,
                  [&](auto const& row) { return row.first != node && !is_alive(row.second); });
    answer.is_member =
        ask.presence == 0
            ? join(rows, ask, node, answer.clock)
            : rows.members.contains(node) && rows.members.find(node)->second.process == ask.process;
    if (!answer.is_member) return answer;
    auto& own = rows.members.find(node)->second;
    // An ask that comes after later ones has been given up: it must undo nothing of those.
    if (ask.presence != 0 && ask.presence >= own.presence) {
        own.presence = ask.presence;
        own.clock = answer.clock = std::max(answer.clock, ask.clock);
        take_share(rows, own, ask.share);
        for (auto const& want : ask.wants) answer.grants.push_back(grant_one(rows, want, ask));
    }
    own.clock = std::max(own.clock, answer.clock);
    answer.share = own.share;
    for (auto const& [name, member] : rows.members) answer.members.push_back(member);
    return answer;
}

}  // namespace latchkey::replicate::protocol
