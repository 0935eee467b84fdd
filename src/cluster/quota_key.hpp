// A key that is in use on this node: its limits, the demand for it, and what it has spent of the
// node's share. Guarded by the lock of its stripe (quota.hpp); values; no errors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster/quota_table.hpp"
#include "helpers/replicate/protocol/quota_grant.hpp"
#include "limit/decision.hpp"
#include "limit/policy.hpp"

namespace latchkey::cluster {

struct quota_key {
    std::uint64_t policy = 0;  // its content
    std::uint8_t rule_count = 0;
    std::array<replicate::protocol::quota_rule, model::rate_limits_max> rules{};
    std::vector<replicate::protocol::quota_origin> origins;  // until a grant has come
    std::uint32_t waiting = 0;                               // tokens that requests wait for
    std::uint64_t answers = 0;                               // grants so far

    // ---- demand
    double rate = 0;           // tokens per second, smoothed
    boot_ns count_start = 0;   // since then
    std::uint32_t spent = 0;   // so many were taken
    std::uint32_t left = 0;    // of the entry, when it was last looked at
    std::uint32_t want = 0;    // in the ask under way
    base::mono_ns window = 0;  // for which those will hold

    // ---- the share
    boot_ns share_start = 0;  // of the time without engine that the arrivals belong to
    boot_ns share_floor = 0;  // not before these limits were known
    std::array<boot_ns, model::rate_limits_max> share_arrivals{};

    std::span<replicate::protocol::quota_rule const> rule_list() const {
        return {rules.data(), rule_count};
    }
    void set_policy(limit::policy const& limits, boot_ns now);
    void count_use(quota_entry const& entry, boot_ns now);
    bool is_idle(quota_entry const& entry, boot_ns now) const;

    // How full the emptiest bucket in the engine is, when the last answer is all that was granted.
    double level(quota_entry const& entry, boot_ns now) const;
    // How many tokens to ask for now, 0: none; sets `want` and `window`.
    void plan(quota_entry const& entry, boot_ns now, base::mono_ns round_trip);
    // Takes a grant of the tokens that were wanted, in the node's own time.
    struct delivery {
        std::uint32_t tokens = 0;
        boot_ns end = 0;
        boot_ns refusal = 0;  // 0: nothing was refused
        std::span<boot_ns const> arrivals;
    };
    // How many tokens are forfeit for it.
    std::uint32_t deliver(quota_entry& entry, boot_ns now, delivery const& grant);
};

// The limits as the engine takes them.
replicate::protocol::quota_rule to_quota_rule(limit::rule const& rule);

}  // namespace latchkey::cluster
