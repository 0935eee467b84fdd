// A worker's access to the buckets: charges them directly, and for a hot key takes a few tokens at
// once, a lease, and then admits from those without touching shared memory. One per worker, on its
// thread only.
//
//     limit::leases leases(buckets);
//     auto const decision = leases.admit(key_id, policy, now.mono, 1);  // as buckets.admit
//
// A lease of n tokens sets every TAT of the key to max(TAT, now + L) + n × T, as if all n had been
// spent at its end: whenever within L they are spent, the promise of buckets.hpp holds. What is
// left at the end is forfeited, never returned. The time L that an idle bucket loses with it, and
// the forfeited tokens, make a bucket emptier than it would have to be, so a lease is only taken
// where the debt after it is at most `lease_debt_max_ns` and half of the bucket, for every limit.
// Then all leases together cost a key at most that much time (each one after the first adds to a
// debt that contains the cost of the ones before it): a key that has tokens is refused for 100 ms
// at most because of them, a key at its limit never has a lease, and slow limits (600 a minute)
// none at all.
//
// A key is hot once it was charged directly `hot_charges` times within L, and stays so while its
// leases are used up. A lease belongs to one preparation of the policy: a PATCH makes another, and
// what was leased before is forfeited, so the new limits hold from the next request on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/thread_checker.hpp"
#include "limit/buckets.hpp"

namespace latchkey::limit {

class leases {
  public:
    static constexpr std::size_t entries = 64;  // keys that one worker tracks, direct-mapped by id

    static constexpr std::uint32_t tokens_max = 64;  // tokens × T must fit 64 bits for every T

    // Measured with bench/micro/limit_bench: see docs/decisions/limits.md.
    struct tuning {
        std::uint32_t tokens = 16;       // per lease; 0: no leases
        std::uint32_t hot_charges = 16;  // direct charges within L that make a key hot
    };
    leases(buckets& shared, tuning const& tuning);  // at most tokens_max
    explicit leases(buckets& shared) : leases(shared, tuning{}) {}
    leases(leases const&) = delete;
    leases& operator=(leases const&) = delete;

    // As buckets::admit. The levels may be L old where another worker was charged.
    decision admit(model::id key, policy const& policy, base::mono_ns now, std::uint32_t cost);

    void prefetch(model::id key) const { shared_.prefetch(key); }

    struct counters {
        std::uint64_t leases = 0;     // taken
        std::uint64_t spent = 0;      // tokens of them
        std::uint64_t forfeited = 0;  // tokens of them
    };
    counters const& count() const { return count_; }

  private:
    struct entry {
        model::id key = 0;
        std::uint64_t version = 0;       // of the policy
        base::mono_ns window_start = 0;  // start of counting direct charges
        base::mono_ns lease_end = 0;     // the last moment at which the lease can be spent
        std::uint32_t charges = 0;
        std::uint32_t tokens = 0;
        debts arrivals{};  // the TATs after the lease, by rule
    };

    bool claim_entry(entry& slot, model::id key, policy const& policy, base::mono_ns now);
    bool is_hot(entry& slot, base::mono_ns now) const;
    decision spend(entry& slot, policy const& policy, base::mono_ns now, std::uint32_t cost);
    void forfeit(entry& slot);

    [[no_unique_address]] base::thread_checker thread_;
    buckets& shared_;
    tuning const tuning_;
    counters count_;
    std::array<entry, entries> entries_{};
};

}  // namespace latchkey::limit
