// Token buckets, exact across all workers (API §10): one atomic theoretical arrival time (TAT) per
// key and limit, eight to a cache line, one line per key id in one sparse mapping. Lock-free; any
// thread. A full bucket is the same as a forgotten one, so zeroed memory is full.
//
//     limit::decision const seen = buckets.admit(key_id, policy, now.mono, 1);
//     limit::put_standings(policy, seen, field);
//     if (!seen.admitted()) … seen.retry_after, seen.violated
//
// The algorithm is GCRA, ITU-T I.371 annex A, in its virtual scheduling form with several tokens at
// once: a limit admits n tokens when max(TAT, now) + n × T ≤ now + burst × T, and then TAT becomes
// max(TAT, now) + n × T. The promise: in any interval of t seconds at most burst + t × limit /
// window are admitted, since between the first and the last charge of an interval every charge
// moves the TAT by its own n × T at least, whichever worker made it. All limits of a key must
// admit; when one refuses, none is charged. Two workers that race for the last token of one limit
// may cost the key a token of another limit, never gain one. Tokens are never given back.
//
// Whole nanoseconds: T is rounded up, so a limit never admits more than it says, and above some
// 10 million tokens a second visibly less. A bucket that would take more than `refill_max_ns` to
// fill holds only as many tokens as refill in that time.
//
// The clocks of two workers differ by the length of a turn, and by any time when a thread has to
// wait for its core. The promise does not depend on it: a charge counts for the time that it names.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/function_ref.hpp"
#include "base/prefetch.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "model/key.hpp"

namespace latchkey::limit {

// About 126 years: burst × T, and the same with the time of the machine added, stay far inside 64
// bits, and its seconds inside the 32 of a standing.
inline constexpr std::int64_t refill_max_ns = 4'000'000'000'000'000'000;

// A TAT further ahead of the newest time that any worker has named than a full bucket's debt and
// this comes from an earlier, slower setting of the limit; it is lowered to just that, so that the
// new setting holds from now on. The newest time is only known to within `newest_step_ns`, so that
// workers rarely write it.
inline constexpr std::int64_t skew_max_ns = 100'000'000;
inline constexpr std::int64_t newest_step_ns = 10'000'000;
static_assert(newest_step_ns < skew_max_ns);

// How long the tokens of a lease can be spent, and what leases may cost a key (leases.hpp): half of
// the 100 ms of API §10, which leaves the other half for clocks that differ.
inline constexpr std::int64_t lease_ns = 2'000'000;
inline constexpr std::int64_t lease_debt_max_ns = 50'000'000;

// A key's limits, prepared for `admit` when the key is read from the store.
struct rule {
    std::int64_t interval_ns = 0;  // T = ceil(window / limit): one token
    std::int64_t capacity_ns = 0;  // burst × T
    std::uint32_t limit = 0;
    std::uint32_t window_seconds = 0;
    std::uint32_t burst = 0;  // what the bucket holds, after the bound of refill_max_ns
    std::uint8_t slot = 0;    // of the key's line
    std::string item;         // `, "name";r=`: what its standing begins with
    std::string_view name() const {
        return std::string_view(item).substr(3, item.size() - std::string_view(", \"\";r=").size());
    }
};
struct policy {
    std::vector<rule> rules;              // at most 8; empty: unlimited
    std::string header;                   // the value of RateLimit-Policy; empty when unlimited
    std::size_t standings_bytes_max = 0;  // of the value of RateLimit
    // Indexes into `rules` in the order of their slots, which is the order of charging: a worker
    // that still has the settings from before a PATCH then races in the same order as the others.
    std::array<std::uint8_t, model::rate_limits_max> by_slot{};
    std::uint64_t version = 0;  // of this preparation: no other one of the process has it
};
// The limits must be within the bounds of the model and have one slot each, no slot twice.
policy prepare(std::span<model::rate_limit const> limits, std::span<std::uint8_t const> slots);

// What was decided and what is left, rule by rule in the policy's order.
struct standing {
    std::uint32_t remaining = 0;        // whole tokens
    std::uint32_t full_in_seconds = 0;  // rounded up
};
standing standing_of(std::int64_t debt, rule const& by);
class decision {
  public:
    bool admitted() const { return violated == 0; }
    std::uint8_t violated = 0;  // bit i: rule i refused
    std::uint8_t count = 0;
    std::array<standing, model::rate_limits_max> standings{};
    // Whole seconds, 0 when admitted, else at least 1 and never too early: after exactly that long
    // the same cost is admitted if nobody else was charged. `never` when no wait can help.
    std::uint32_t retry_after = 0;
    static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
};
// Puts `"minute";r=599;t=1, "hour";…`, the value of RateLimit (IETF
// draft-ietf-httpapi-ratelimit- headers). Nothing for an unlimited key.
void put_standings(policy const& rules, decision const& seen, base::text_writer& to);

// How far the buckets of a key lie ahead of now, by slot: the time until each is full.
using debts = std::array<std::int64_t, model::rate_limits_max>;

class buckets {
  public:
    static constexpr std::uint64_t keys_max = 1ull << 26;

    // Reserves address space for key ids below `keys` (MAP_NORESERVE, 64 bytes each, at most
    // keys_max); memory is used as keys are charged.
    static base::result<std::unique_ptr<buckets>> make(std::uint64_t keys = keys_max);
    ~buckets();
    buckets(buckets const&) = delete;
    buckets& operator=(buckets const&) = delete;

    // Charges `cost` tokens of every limit, or none. Cost 0 only looks and is always admitted. No
    // lock, no allocation, no system call. `now` is the turn's monotonic clock, never negative.
    //
    // A cost above a bucket's burst is refused for ever. So is a limited key whose id has no line:
    // the promise cannot be kept for it, and who creates keys should stop below keys_max.
    decision admit(model::id key, policy const& rules, base::mono_ns now, std::uint32_t cost);

    // Has the key's buckets fetched that `admit` is going to charge. Only a hint.
    void prefetch(model::id key) const {
        if (static_cast<std::uint64_t>(key) < keys_) base::prefetch(&lines_[key], sizeof(line));
    }

    // Takes so many tokens of every limit, to be spent from now until now + lease_ns; false: there
    // are not so many to spare (leases.hpp), and none was taken but in a lost race between workers,
    // as with `admit`. `arrivals` is told what each TAT became, rule by rule.
    bool lease(model::id key, policy const& rules, base::mono_ns now, std::uint32_t tokens,
               debts& arrivals);

    // For a save: the keys with a bucket that is not full, ascending, until `see` says false.
    void each_debt(base::mono_ns now, base::function_ref<bool(model::id, debts const&)> see) const;
    // For a restore, before the first charge. A key without a line is left out.
    void restore_debt(model::id key, debts const& owed, base::mono_ns now);

  private:
    struct alignas(64) line {
        std::array<std::atomic<std::int64_t>, model::rate_limits_max> arrival;
    };
    buckets(line* lines, std::uint64_t keys) : lines_(lines), keys_(keys) {}
    void note(std::uint64_t key, base::mono_ns now);

    line* lines_;
    std::uint64_t keys_;
    // No key from here on was ever charged: a save walks over no page beyond.
    std::atomic<std::uint64_t> end_{0};
    std::atomic<std::int64_t> newest_{0};  // at most newest_step_ns behind every charge
};

}  // namespace latchkey::limit
