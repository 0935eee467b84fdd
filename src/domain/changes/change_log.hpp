// Records changes in the transaction that makes them, and removes those that are old (api.md §16).
// Without `transaction::records_changes` nothing is recorded. Private to the domain.
#pragma once

#include "domain/changes/change_record.hpp"
#include "domain/command.hpp"
#include "model/event.hpp"
#include "model/post.hpp"
#include "model/user.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// `caller` is the key of the request; 0: the command line, or the service itself.
void note_change(transaction& txn, model::change_type type, model::id caller,
                 model::user const& user);
void note_change(transaction& txn, model::change_type type, model::id caller,
                 model::post const& post);
void note_change(transaction& txn, model::change_type type, model::id caller,
                 model::event_view const& event);
void note_change(transaction& txn, model::change_type type, model::id caller,
                 secret_change const& secret);
// For every other kind: the change comes with its record encoded; its sequence and time are set
// here.
void note_change(transaction& txn, change_view change);

// Removes the oldest changes, with their deliveries: those older than the retention and those
// beyond the bound, but for the last. True: more than `limit` are left to be removed.
bool expire_changes(transaction& txn, std::size_t limit);

// The rejection where the store records no changes.
std::optional<outcome> check_changes_recorded(transaction& txn);

}  // namespace latchkey::domain
