// A worker's door to the buckets: charges them directly, and for a hot key takes a few tokens at
// once, a lease, and then admits from those without touching what workers share. One per worker, on
// its thread alone.
//
//     limit::leases mine(buckets);
//     limit::decision const seen = mine.admit(key_id, policy, now.mono, 1);   // as buckets.admit
//
// A lease of n tokens sets every TAT of the key to max(TAT, now + L) + n × T, so it is as if all n
// had been spent at its end: whenever within L they are, the promise of buckets.hpp holds. What is
// left at the end is forfeited, never given back. The time L that an idle bucket loses with it, and
// the forfeited tokens, make a bucket emptier than it would have to be, so a lease is only taken
// where the debt after it is at most `lease_debt_max_ns` and half of the bucket, for every limit.
// Then all that leases ever cost a key is at most that much time (each one after the first adds to
// a debt that contains what the ones before it cost): a key that has tokens is refused for 100 ms
// at most because of them, a key at its limit never has a lease, and slow limits (600 a minute)
// none at all.
//
// A key is hot once it was charged directly `hot` times within L, and stays so while its leases are
// used up. A lease belongs to one preparation of the policy: a PATCH makes another, and what was
// leased before is forfeited, so the new limits hold from the next request on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "limit/buckets.hpp"

namespace latchkey::limit {

class leases {
  public:
    static constexpr std::size_t entries = 64;  // keys that one worker watches; by id modulo

    static constexpr std::uint32_t tokens_max = 64;  // T × n must fit 64 bits for every T

    // Measured with bench/micro/limit_bench: see src/README.md, "Decisions".
    struct settings {
        std::uint32_t tokens = 16;  // of one lease; 0: never a lease
        std::uint32_t hot = 16;     // direct charges within L, that make a key hot
    };
    leases(buckets& shared, settings how);  // at most tokens_max
    explicit leases(buckets& shared) : leases(shared, settings{}) {}
    leases(leases const&) = delete;
    leases& operator=(leases const&) = delete;

    // As buckets::admit. What is said to be left may be L old where another worker was charged.
    decision admit(model::id key, policy const& rules, base::mono_ns now, std::uint32_t cost);

    void prefetch(model::id key) const { shared_.prefetch(key); }

    struct counters {
        std::uint64_t taken = 0;      // leases
        std::uint64_t spent = 0;      // tokens of them
        std::uint64_t forfeited = 0;  // tokens of them
    };
    counters const& count() const { return count_; }

  private:
    struct entry {
        model::id key = 0;
        std::uint64_t version = 0;  // of the policy
        base::mono_ns since = 0;    // when counting direct charges began
        base::mono_ns ends = 0;     // the last moment at which the lease's tokens can be spent
        std::uint32_t charges = 0;
        std::uint32_t left = 0;
        debts arrivals{};  // by rule: what the TAT was after the lease
    };

    bool take_place(entry& at, model::id key, policy const& rules, base::mono_ns now);
    bool is_hot(entry& at, base::mono_ns now) const;
    decision spend(entry& at, policy const& rules, base::mono_ns now, std::uint32_t cost);
    void forfeit(entry& at);

    buckets& shared_;
    settings const how_;
    counters count_;
    std::array<entry, entries> entries_{};
};

}  // namespace latchkey::limit
