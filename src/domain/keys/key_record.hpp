// A key's record within a transaction, together with all that changes with it: the indexes and
// counts of lists, and the ring of changes that the workers' caches follow. Private to the domain.
#pragma once

#include <optional>

#include "domain/command.hpp"
#include "model/change.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// none; not_found; or internal_error: the record is unreadable.
base::problem read_key(transaction& txn, model::id id, model::key& key);

// Is the key within the bounds of its encoding? Handlers check tighter ones before.
bool is_storable(model::key const& key);

// Writes `new_key`, which replaces `old_key` (null: there is none). Project, start, digest and id
// of a key never change.
void put_key(transaction& txn, model::key const* old_key, model::key const& new_key);

// A rejection if all ids of keys are used up; ids are never reused.
std::optional<outcome> check_key_ids(transaction& txn);

// 0: never.
base::wall_ms last_use_of(transaction& txn, model::id id);

// Records a change of the key, with its last use. `caller` as in change_log.hpp.
void note_change(transaction& txn, model::change_type type, model::id caller,
                 model::key const& key);

// The outcome with `key` as its record, and its last use.
outcome key_result(transaction& txn, model::key key);

}  // namespace latchkey::domain
