// A key's record inside a transaction, with everything that must move along when it changes: the
// indexes and counts of lists, the ring of changes that workers follow. Private to the store.
#pragma once

#include "store/commands.hpp"

namespace latchkey::store {

// none, not_found, or internal_error when the record cannot be read.
base::problem read_key(transaction& in, model::id id, model::key& into);

// Bounds that the record's encoding has; handlers refuse what is beyond them long before.
bool can_be_kept(model::key const& key);

// Writes `after`, which replaces `before` (null: it is new). Project, start, digest and id of a key
// never change.
void put_key(transaction& in, model::key const* before, model::key const& after);

// 0: never.
base::wall_ms last_use_of(transaction& in, model::id id);

// The answer that shows `key`.
outcome shown(transaction& in, model::key key);

}  // namespace latchkey::store
