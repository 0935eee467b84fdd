// A worker's access to the tokens of its node: for a hot key it takes a few at once, and then
// spends those without touching what the workers share. One per worker, on its thread only.
//
// As limit/leases.hpp, with the node's tokens in the place of buckets: a batch ends with the grant
// that it was taken from, and belongs to the limits for which it was granted. It is only taken
// where the node has four times as many, so that a key is not refused because another worker holds
// its tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/thread_checker.hpp"
#include "cluster/quota.hpp"

namespace latchkey::cluster {

class quota_purse {
  public:
    static constexpr std::size_t entries = 64;  // keys that one worker tracks, direct-mapped by id
    static constexpr std::uint32_t batch = 16;
    static constexpr std::uint32_t hot_charges = 16;  // within hot_ns
    static constexpr base::mono_ns hot_ns = 2 * base::millisecond;

    explicit quota_purse(quota& shared) : shared_(shared) {}
    quota_purse(quota_purse const&) = delete;
    quota_purse& operator=(quota_purse const&) = delete;

    // As quota::admit.
    quota_verdict admit(model::id key, limit::policy const& policy, boot_ns now, std::uint32_t cost,
                        quota_ticket& ticket);

    void prefetch(model::id key) const { shared_.prefetch(key); }

  private:
    struct entry {
        model::id key = 0;
        std::uint64_t policy = 0;
        boot_ns end = 0;
        boot_ns count_start = 0;
        std::uint32_t charges = 0;
        std::uint32_t tokens = 0;
    };
    // False: it belongs to another key that is in use.
    static bool claim(entry& place, model::id key, std::uint64_t policy, boot_ns now);
    static bool is_hot(entry& place, boot_ns now);

    [[no_unique_address]] base::thread_checker thread_;
    quota& shared_;
    std::array<entry, entries> entries_{};
};

}  // namespace latchkey::cluster
