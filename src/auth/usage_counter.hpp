// Write-behind counter of key usage in one worker: when each key was last accepted, and how many of
// its requests were answered with which class of status, by minute; and which came unprotected.
// Exact in memory, written to the store in batches (never a write per request). One per worker,
// used on its thread only.
//
//     uses.note(key_id, now.wall);                           // every accepted request
//     uses.count(key_id, now.wall, 200, false);              // every answered one of a known key
//     domain::note_key_uses batch{uses.take(256), uses.take_exposed()};  // every few seconds, and
//                                                                       // at the end
//
// Nothing is dropped for lack of room: `full` asks for an early `take`. Only what the store keeps
// refusing is bounded, by `put_back`. A key that was used since the last `take` allocates nothing.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstring>
#include <vector>

#include "base/clock.hpp"
#include "domain/command.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

class usage_counter {
  public:
    void note(model::id key, base::wall_ms time);
    // A late response, after a later minute has begun for its key, counts in that minute.
    void count(model::id key, base::wall_ms time, unsigned status, bool limited);
    // A key that came by query, by body or without TLS over a network. One that was not looked up,
    // since its request was refused for that, may be of no key: of these few are remembered, and
    // none keeps out a known one.
    void expose(model::digest const& key) { expose(key, exposed_max); }
    void expose_unknown(model::digest const& key) { expose(key, unknown_max); }
    base::wall_ms last(model::id key) const;  // time of the last accepted request; 0: none here

    // Removes at most `count_max` uses that were not taken yet. Several may be of one key.
    std::vector<domain::key_use> take(std::size_t count_max);
    // The exposed keys that were not taken yet, each once; at most domain::key_uses_max.
    std::vector<model::digest> take_exposed();
    // Returns a batch that could not be stored, to be taken again. Result: the number of requests
    // that were dropped, because 65,536 minutes of keys were waiting already.
    std::uint64_t put_back(std::vector<domain::key_use> const& uses);
    bool empty() const { return fresh_.empty() && past_.empty() && exposed_.empty(); }
    bool full() const { return fresh_.size() + past_.size() >= flush_threshold; }

  private:
    struct entry {
        domain::key_use use;
        bool fresh = false;  // not taken yet
    };
    static constexpr std::size_t flush_threshold = 4096;
    // Beyond that many, entries that the store has are dropped.
    static constexpr std::size_t entries_max = 64 * 1024;
    static constexpr std::size_t past_max = 64 * 1024;
    static constexpr std::size_t exposed_max = domain::key_uses_max;
    static constexpr std::size_t unknown_max = exposed_max / 4;

    struct digest_hash {
        using is_avalanching = void;
        // Part of a SHA-256.
        std::size_t operator()(model::digest const& digest) const {
            std::size_t hash;
            std::memcpy(&hash, digest.data(), sizeof hash);
            return hash;
        }
    };

    entry& fresh_entry(model::id key);
    void expose(model::digest const& key, std::size_t room) {
        if (exposed_.size() < room) exposed_.insert(key);
    }

    boost::unordered_flat_map<model::id, entry> entries_;
    std::vector<model::id> fresh_;
    std::vector<domain::key_use> past_;  // completed minutes, and those that were put back
    boost::unordered_flat_set<model::digest, digest_hash> exposed_;
    // The last entry used: a request notes and counts the same key. Inserting may move all entries,
    // so fresh_entry, which alone inserts, sets this again.
    entry* latest_ = nullptr;
};

}  // namespace latchkey::auth
