// Usage of keys as a kind of record: what is noted of it, and what the store as a whole does.
// Values, any thread.
#pragma once

#include <vector>

#include "domain/frame/action.hpp"
#include "domain/frame/kind.hpp"
#include "model/key.hpp"
#include "model/usage.hpp"

namespace latchkey::domain {

// The use of one key as one worker counted it.
struct key_use {
    model::id key = 0;
    base::wall_ms last_used = 0;  // of the last accepted request; 0: none
    base::wall_ms minute = 0;     // start of the minute of `counted`
    model::usage counted;
};
// The later last use wins, counts are added. Not a change of the key: no cache is invalidated and
// nothing is audited. Uses of keys that do not exist are ignored. Records the events key.limited of
// keys that were limited, and key.exposed of those in `exposed`.
struct note_key_uses {
    std::vector<key_use> uses;
    std::vector<model::digest> exposed = {};  // at most key_uses_max; some may be of no key
};
inline constexpr std::size_t key_uses_max = 256;  // per command; each may write four entries

outcome run(transaction& txn, note_key_uses const& action, command const& command);

std::size_t bytes_of(note_key_uses const& action);
using usage_actions = types<note_key_uses>;

void check_usage(consistency_check& check);
extern kind const usage_kind;

}  // namespace latchkey::domain
