// Token buckets, exact across all workers (API §10): one atomic theoretical arrival time (GCRA,
// ITU-T I.371) per key and limit, eight to a cache line, one line per key id in one sparse mapping.
// Lock-free; any thread. A full bucket is the same as a forgotten one, so zeroed memory is full.
//
//     limit::decision const seen = buckets.admit(key_id, policy, now.mono, 1);
//     if (!seen.admitted()) … seen.retry_after_seconds(), seen.violated
//
// The promise: in any interval of t seconds at most burst + t × limit / window are admitted. All
// limits of a key must admit; when one refuses, none is charged. Tokens are never given back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "model/key.hpp"

namespace latchkey::limit {

// A key's limits, prepared for `admit` when the key is read from the store.
struct rule {
    std::int64_t interval_ns = 0;   // T = ceil(window / limit): one token
    std::int64_t capacity_ns = 0;   // burst × T
    std::uint32_t limit = 0;
    std::uint32_t window_seconds = 0;
    std::uint32_t burst = 0;
    std::uint8_t slot = 0;          // of the key's line
    std::string name;
};
struct policy {
    std::vector<rule> rules;        // at most 8; empty: unlimited
    std::string header;             // the value of RateLimit-Policy; empty when unlimited
};
policy prepare(std::span<model::rate_limit const> limits, std::span<std::uint8_t const> slots);

// What was decided and what is left, rule by rule in the policy's order.
struct standing {
    std::uint32_t remaining = 0;        // whole tokens
    std::uint32_t full_in_seconds = 0;  // rounded up
};
class decision {
  public:
    bool admitted() const { return violated == 0; }
    std::uint8_t violated = 0;  // bit i: rule i refused
    std::uint8_t count = 0;
    std::array<standing, model::rate_limits_max> standings{};
    std::uint32_t retry_after = 0;  // whole seconds, at least 1 when refused, never too early
};
// Appends `"minute";r=599;t=1, "hour";…`, the value of RateLimit.
void append_header(policy const& rules, decision const& seen, std::string& to);

class buckets {
  public:
    static constexpr std::uint64_t keys_max = 1ull << 26;

    // Reserves address space for `keys` lines (MAP_NORESERVE); memory is used as keys are charged.
    static base::result<std::unique_ptr<buckets>> make(std::uint64_t keys = keys_max);
    ~buckets();
    buckets(buckets const&) = delete;
    buckets& operator=(buckets const&) = delete;

    // Charges `cost` tokens of every limit, or none. Cost 0 only looks. No lock, no allocation, no
    // system call. `now` is the turn's monotonic clock.
    decision admit(model::id key, policy const& rules, base::mono_ns now, std::uint32_t cost);

  private:
    struct alignas(64) line {
        std::array<std::atomic<std::int64_t>, model::rate_limits_max> arrival;
    };
    buckets(line* lines, std::uint64_t keys) : lines_(lines), keys_(keys) {}

    line* lines_;
    std::uint64_t keys_;
};

}  // namespace latchkey::limit
