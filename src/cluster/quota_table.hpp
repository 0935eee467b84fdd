// The tokens that this node holds, by key: what a request touches. One cache line per key that is
// taken from, another with what the RateLimit field tells; by key id in one sparse mapping, as in
// limit/buckets.hpp: zeroed pages are keys without tokens. Lock-free; any thread.
//
// Two grants per key, since the next one is asked for before the last one is used up. A grant is
// one word, so that tokens and the time for which they hold are read and taken together.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/limits.hpp"
#include "base/result.hpp"
#include "cluster/lease.hpp"
#include "model/key.hpp"

namespace latchkey::cluster {

inline constexpr std::uint32_t quota_tokens_max = (1u << 20) - 1;  // of one grant

// Tokens below, the end above, in steps of 65 µs.
struct quota_word {
    static constexpr int token_bits = 20, step_bits = 16;

    static std::uint64_t of(std::uint32_t tokens, boot_ns end) {
        return static_cast<std::uint64_t>(end) >> step_bits << token_bits | tokens;
    }
    static std::uint32_t tokens(std::uint64_t word) {
        return static_cast<std::uint32_t>(word & quota_tokens_max);
    }
    static boot_ns end(std::uint64_t word) {
        return static_cast<boot_ns>(word >> token_bits << step_bits);
    }
    static std::uint32_t tokens_at(std::uint64_t word, boot_ns time) {
        return end(word) >= time ? tokens(word) : 0;
    }
};

struct quota_entry {
    // ---- the line from which is taken
    alignas(64) std::array<std::atomic<std::uint64_t>, 2> grants;
    std::atomic<std::uint64_t> policy;  // content of the policy whose tokens these are; 0: none
    std::atomic<boot_ns> renewal;       // from then on, or
    std::atomic<std::uint32_t> low;     // with fewer tokens, the key is reported
    std::atomic<bool> is_reported;
    std::atomic<boot_ns> refusal;  // until then it has no tokens in the engine either
    // ---- by rule: when its bucket is full again
    alignas(64) std::array<std::atomic<boot_ns>, model::rate_limits_max> arrivals;

    std::uint32_t tokens_at(boot_ns time) const;
    // Tokens of both grants, whether they hold or not.
    std::uint32_t tokens() const;
    // Takes from the grant that ends first. Its end; 0: none has so many.
    boot_ns take(boot_ns now, std::uint32_t tokens);
    // Whether the node should ask for more.
    bool is_due(boot_ns now) const;
    // Puts a grant in the place of the one that is of less use. How many of that are forfeit.
    std::uint32_t put(boot_ns now, std::uint32_t tokens, boot_ns end);
    void clear();
};

class quota_table {
  public:
    static constexpr std::uint64_t keys_max = base::limits::key_id_max + 1;

    // Reserves address space: 128 bytes for each key id below `keys`.
    static base::result<std::unique_ptr<quota_table>> make(std::uint64_t keys = keys_max);
    ~quota_table();
    quota_table(quota_table const&) = delete;
    quota_table& operator=(quota_table const&) = delete;

    // nullptr: there is no such key id.
    quota_entry* find(model::id key) const {
        auto const index = static_cast<std::uint64_t>(key);
        return index < keys_ ? &entries_[index] : nullptr;
    }

  private:
    quota_table(quota_entry* entries, std::uint64_t keys) : entries_(entries), keys_(keys) {}

    quota_entry* entries_;
    std::uint64_t keys_;
};

}  // namespace latchkey::cluster
