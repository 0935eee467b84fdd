// When each key was last used, as one worker saw it: exact here, and handed to the store in batches
// (never a write per request). One per worker, used on its thread alone.
//
//     uses.note(key_id, now.wall);                           // every accepted request
//     store::note_key_uses batch{uses.take(1024)};           // every half minute, and at the end
//
// Noting a key that was noted before allocates nothing.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

class uses {
  public:
    void note(model::id key, base::wall_ms at);
    base::wall_ms last(model::id key) const;  // 0: not seen here
    // Keys that were used since they were taken last, with the time; at most `most`.
    std::vector<std::pair<model::id, base::wall_ms>> take(std::size_t most);
    bool empty() const { return fresh_.empty(); }

  private:
    struct entry {
        base::wall_ms at = 0;
        bool fresh = false;  // not taken yet
    };
    // Beyond that many, what the store knows already is forgotten.
    static constexpr std::size_t remembered_max = 64 * 1024;

    std::unordered_map<model::id, entry> seen_;
    std::vector<model::id> fresh_;
};

}  // namespace latchkey::auth
