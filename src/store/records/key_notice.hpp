// What is told of a key without a request that changes it (api.md §16): what time has brought
// about, and how it was used. Beside the key a record says what was told already: told_until,
// limited_at and exposed_at (8 each), after a version (1). Private to the store.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/change.hpp"
#include "model/key.hpp"
#include "store/engine/transaction.hpp"

namespace latchkey::store {

// Times; 0: never.
struct key_notice {
    base::wall_ms told_until = 0;  // all that time brought about up to then
    base::wall_ms limited_at = 0;  // when key.limited was told last
    base::wall_ms exposed_at = 0;
    bool operator==(key_notice const&) const = default;
};
void encode(key_notice const& notice, std::string& output);  // replaces `output`
std::optional<key_notice> decode_key_notice(std::string_view bytes);

// What time brings about a key after `start`.
struct key_times {
    // The first of these times, which may have come; INT64_MAX: there is none.
    base::wall_ms next = INT64_MAX;
    std::array<model::change_type, 3> types{};  // what has come by `now`, in order
    std::size_t count = 0;
    std::span<model::change_type const> due() const { return {types.data(), count}; }
};
key_times times_of(model::key const& key, base::wall_ms last_use, base::wall_ms start,
                   base::wall_ms now, key_time_rules const& rules);

// Since when what time brings is told in this store; what came before was never told, and is not.
// Now, where that is not recorded yet, and then `begin_key_times` records it.
base::wall_ms begin_of_key_times(transaction& txn);
void begin_key_times(transaction& txn);

// Tells what time has brought about the key since it was told last. The size of what was told.
std::size_t tell_times(transaction& txn, model::key const& key);
// The same before a change of its times: what of the new ones has passed already is not told.
void tell_times_before_change(transaction& txn, model::key const& old_key);
// The overlap of its rotation ends as it begins.
void tell_end_of_rotation(transaction& txn, model::key const& key);
// Tells that it was refused by its limits, or came unprotected, if that was not told recently.
void tell_limited(transaction& txn, model::id id);
void tell_exposed(transaction& txn, model::id id);

}  // namespace latchkey::store
