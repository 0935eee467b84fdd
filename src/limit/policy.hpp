// The rate limits of a key, prepared for charging when the key is read from the store, so that a
// request divides nothing and formats no name. Values, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/key.hpp"

namespace latchkey::limit {

// Slots of the first of the two cache lines of a key (buckets.hpp).
inline constexpr std::size_t line_slots = 4;

using model::refill_max_ns;

// One limit of a key.
struct rule {
    std::int64_t interval_ns = 0;  // T = ceil(window / limit): one token
    std::int64_t capacity_ns = 0;  // burst × T
    std::uint32_t limit = 0;
    std::uint32_t window_seconds = 0;
    std::uint32_t burst = 0;  // tokens in a full bucket, bounded by refill_max_ns
    std::uint8_t slot = 0;    // the bucket of the key
    std::uint64_t generation = 0;
    std::string item;  // the constant prefix of its item in RateLimit
    std::string name;
};

// The buckets of a key that this one replaces by rotation, rule by rule: a bucket that was never
// charged takes over their level with its first use.
inline constexpr std::size_t predecessors_max = 3;
struct predecessor {
    static constexpr std::uint8_t no_slot = 0xff;
    model::id key = 0;
    std::array<std::uint8_t, model::rate_limits_max> slots{};  // no_slot: it has no such limit
    std::array<std::uint64_t, model::rate_limits_max> generations{};
};

struct policy {
    std::vector<rule> rules;           // at most 8; empty: unlimited
    std::string header;                // the value of RateLimit-Policy; empty when unlimited
    std::size_t levels_bytes_max = 0;  // size bound of the value of RateLimit
    // Indexes into `rules` in the order of slots, which is the order of charging: a worker that
    // still has the limits from before a PATCH then races in the same order as the others.
    std::array<std::uint8_t, model::rate_limits_max> by_slot{};
    bool wide = false;                      // uses a slot of the second line
    std::vector<predecessor> predecessors;  // at most predecessors_max
    std::uint64_t version = 0;              // of this preparation; unique in the process
    std::uint64_t content = 0;  // hash of what the buckets depend on, never 0: equal in all workers
};
// The limits must be within the bounds of the model and have one slot each, no slot twice.
// `generations` may be empty: all 0.
policy prepare(std::span<model::rate_limit const> limits, std::span<std::uint8_t const> slots,
               std::span<std::uint64_t const> generations = {});

// The buckets of `earlier` that belong to the limits of the policy, by name. Limits that came after
// the rotation, with a generation of their own, have none.
predecessor predecessor_of(policy const& policy, model::key const& earlier);
// The longest time in which a bucket of the policy fills.
std::int64_t fill_time_ns(policy const& policy);

}  // namespace latchkey::limit
