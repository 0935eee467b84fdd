// Records changes in the transaction that makes them, and removes those that are old (api.md §16).
// Without `transaction::records_changes` nothing is recorded. Private to the domain.
#pragma once

#include "domain/changes/change_record.hpp"
#include "domain/command.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// The change comes with its record encoded; its sequence and time are set here.
void note_change(transaction& txn, change_view change);
// For kinds that belong to no project: encodes the record in the scratch of the transaction.
// `caller` is the key of the request; 0: the command line, or the service itself.
template <class Record>
void note_change(transaction& txn, model::change_type type, model::id caller,
                 Record const& record) {
    if (!txn.records_changes()) return;
    encode(record, txn.scratch);
    change_view change{.type = type, .key_id = caller, .project = {}, .record = txn.scratch};
    if constexpr (requires { record.id; }) change.subject = record.id;
    note_change(txn, change);
}

// Removes the oldest changes, with their deliveries: those older than the retention and those
// beyond the bound, but for the last. True: more than `limit` are left to be removed.
bool expire_changes(transaction& txn, std::size_t limit);

// The rejection where the store records no changes.
std::optional<outcome> check_changes_recorded(transaction& txn);

}  // namespace latchkey::domain
