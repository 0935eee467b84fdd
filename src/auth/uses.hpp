// What keys were used for, as one worker saw it: when each was last accepted, and how many of its
// requests were answered in which way, by minute. Exact here, and handed to the store in batches
// (never a write per request). One per worker, used on its thread alone.
//
//     uses.note(key_id, now.wall);                           // every accepted request
//     uses.count(key_id, now.wall, 200, false);              // every answered one of a known key
//     store::note_key_uses batch{uses.take(256)};            // every few seconds, and at the end
//
// Nothing is ever dropped for want of room: when much has come together, `full` asks to be emptied
// early. Only what the store refuses for long is bounded, by `put_back`. A key that was seen since
// the last `take` allocates nothing.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <vector>

#include "base/clock.hpp"
#include "model/key.hpp"
#include "store/command.hpp"

namespace latchkey::auth {

class uses {
  public:
    void note(model::id key, base::wall_ms at);
    // One that is answered late, when a later minute has begun for its key, counts in that one.
    void count(model::id key, base::wall_ms at, unsigned status, bool limited);
    base::wall_ms last(model::id key) const;  // when it was accepted; 0: not seen here

    // What was seen since it was taken last; at most `most`. Several may be of one key.
    std::vector<store::key_use> take(std::size_t most);
    // What could not be stored, to be taken again. How many requests had to be forgotten, because
    // 65,536 minutes of keys were waiting already.
    std::uint64_t put_back(std::vector<store::key_use> const& refused);
    bool empty() const { return fresh_.empty() && past_.empty(); }
    bool full() const { return fresh_.size() + past_.size() >= full_at; }

  private:
    struct entry {
        store::key_use seen;
        bool fresh = false;  // not taken yet
    };
    static constexpr std::size_t full_at = 4096;
    // Beyond that many, what the store knows already is forgotten.
    static constexpr std::size_t remembered_max = 64 * 1024;
    static constexpr std::size_t past_max = 64 * 1024;

    entry& fresh_entry(model::id key);

    boost::unordered_flat_map<model::id, entry> seen_;
    std::vector<model::id> fresh_;
    std::vector<store::key_use> past_;  // minutes that are over, or were put back
    // A request notes and counts the same key. A new key may move all entries: only fresh_entry
    // makes one, and sets this anew.
    entry* latest_ = nullptr;
};

}  // namespace latchkey::auth
