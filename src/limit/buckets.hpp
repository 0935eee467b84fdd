// Token buckets, exact across all workers (api.md §10): one atomic theoretical arrival time (TAT)
// per key and limit, beside the generation of its limit, in one sparse mapping: four to a cache
// line, the first four slots of a key in one line, the others in another. Lock-free; any thread. A
// full bucket needs no memory, so zeroed pages are full buckets.
//
//     limit::decision const decision = buckets.admit(key_id, policy, now.mono, 1);
//     limit::put_levels(policy, decision, field);
//     if (!decision.admitted()) … decision.retry_after, decision.violated
//
// The algorithm is GCRA, ITU-T I.371 annex A, in its virtual scheduling form with several tokens at
// once: a limit admits n tokens when max(TAT, now) + n × T ≤ now + burst × T, and then TAT becomes
// max(TAT, now) + n × T. The promise: in any interval of t seconds at most burst + t × limit /
// window are admitted, since between the first and the last charge of an interval every charge
// moves the TAT by its own n × T at least, whichever worker made it. All limits of a key must
// admit; when one refuses, none is charged. Two workers that race for the last token of one limit
// may cost the key a token of another limit, never gain one. Tokens are never returned.
//
// A limit that takes over the slot of one that was removed has a later generation, and a TAT of an
// earlier one counts as none: the first charge writes both words at once. A worker that still has
// only the removed limit (for the rest of its turn) finds a later generation and does not charge
// it.
//
// The buckets of a key's successor begin with the level of its own ones (policy::predecessors), as
// it is when the successor is first used.
//
// Whole nanoseconds: T is rounded up, so a limit never admits more than its rate, and above some
// 10 million tokens a second visibly less. A bucket that would take more than `refill_max_ns` to
// fill, as records of earlier versions may ask for, holds as many tokens as refill in that time.
//
// The clocks of two workers differ by the length of a turn, and by any time when a thread has to
// wait for its core. The promise does not depend on it: a charge counts at its own time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "base/function_ref.hpp"
#include "base/limits.hpp"
#include "base/prefetch.hpp"
#include "base/result.hpp"
#include "base/time_units.hpp"
#include "limit/decision.hpp"
#include "limit/policy.hpp"

namespace latchkey::limit {

// A TAT further ahead of the newest time named by any worker than the debt of an empty bucket plus
// this value comes from an earlier, slower setting of the limit; it is lowered to exactly that, so
// that the new setting holds from now on. The newest time is only known to within `newest_step_ns`,
// so that workers rarely write it.
inline constexpr std::int64_t skew_max_ns = 100 * base::millisecond;
inline constexpr std::int64_t newest_step_ns = 10 * base::millisecond;
static_assert(newest_step_ns < skew_max_ns);

// How long the tokens of a lease can be spent, and what leases may cost a key (leases.hpp): half of
// the 100 ms of api.md §10; the other half is for clocks that differ.
inline constexpr std::int64_t lease_ns = 2 * base::millisecond;
inline constexpr std::int64_t lease_debt_max_ns = 50 * base::millisecond;

// How far the buckets of a key lie ahead of now, by slot: the time until each is full.
using debts = std::array<std::int64_t, model::rate_limits_max>;
struct bucket_debts {
    debts debt{};
    std::array<std::uint64_t, model::rate_limits_max>
        generation{};  // of the limit that was charged
};

class buckets {
  public:
    static constexpr std::uint64_t keys_max = base::limits::key_id_max + 1;

    // Reserves address space for key ids below `keys` (MAP_NORESERVE, 128 bytes each, at most
    // keys_max); memory is used as keys are charged, 64 bytes each for up to four limits.
    static base::result<std::unique_ptr<buckets>> make(std::uint64_t keys = keys_max);
    ~buckets();
    buckets(buckets const&) = delete;
    buckets& operator=(buckets const&) = delete;

    // Charges `cost` tokens of every limit, or none. Cost 0 only reads and is always admitted. No
    // lock, no allocation, no system call. `now` is the turn's monotonic clock, never negative.
    //
    // A cost above the burst of a limit is refused permanently. So is a limited key whose id has no
    // line: the promise cannot be kept for it. The store assigns no such id
    // (base::limits::key_id_max).
    decision admit(model::id key, policy const& policy, base::mono_ns now, std::uint32_t cost);

    // Prefetches the key's first line, which `admit` will charge. Only a hint.
    void prefetch(model::id key) const {
        if (static_cast<std::uint64_t>(key) < keys_) base::prefetch(&lines_[key], sizeof(line));
    }

    // Takes `tokens` of every limit, to be spent from now until now + lease_ns. False: the buckets
    // have not so many to spare (leases.hpp), and none was taken, except in a lost race between
    // workers, as with `admit`. `arrivals` receives the new TATs, rule by rule.
    bool lease(model::id key, policy const& policy, base::mono_ns now, std::uint32_t tokens,
               debts& arrivals);

    // For a snapshot: the keys with a bucket that is not full, ascending, until `visit` returns
    // false.
    void each_debt(base::mono_ns now,
                   base::function_ref<bool(model::id, bucket_debts const&)> visit) const;
    // For a restore, before the first charge. A key without a line is skipped.
    void restore_debt(model::id key, bucket_debts const& debts, base::mono_ns now);

    // A bucket: the TAT and the generation of its limit, written together.
    struct alignas(16) word {
        std::int64_t arrival = 0;
        std::uint64_t generation = 0;
    };

  private:
    static constexpr std::size_t key_lines = model::rate_limits_max / line_slots;
    static_assert(key_lines * line_slots == model::rate_limits_max);
    struct alignas(64) line {
        std::array<word, line_slots> words;
    };
    buckets(line* lines, std::uint64_t keys) : lines_(lines), keys_(keys) {}
    word& bucket(std::uint64_t key, std::size_t slot) const {
        return lines_[key + slot / line_slots * keys_].words[slot % line_slots];
    }
    void mark_used(std::uint64_t key, bool wide, base::mono_ns now);
    void inherit(std::uint64_t key, policy const& policy, base::mono_ns now);

    line* lines_;  // the first lines of all keys, then the second ones
    std::uint64_t keys_;
    // Ends of the used part: no key from here on was ever charged in its first or second line, so a
    // snapshot skips the pages beyond.
    std::array<std::atomic<std::uint64_t>, key_lines> end_{};
    std::atomic<std::int64_t> newest_{0};  // at most newest_step_ns behind every charge
};

}  // namespace latchkey::limit
