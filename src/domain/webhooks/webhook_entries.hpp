// A webhook within a transaction: its record, how far it has come, its deliveries and replays
// (api.md §17). Private to the domain.
#pragma once

#include "domain/command.hpp"
#include "domain/webhooks/webhook_record.hpp"
#include "model/change.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// none; not_found; or internal_error: the record is unreadable.
base::problem read_webhook(transaction& txn, model::id id, webhook_record& record);
void put_webhook(transaction& txn, webhook_record const& record);
// Damaged, it begins anew: at no position.
model::webhook_progress read_progress(transaction& txn, model::id webhook);
void put_progress(transaction& txn, model::id webhook, model::webhook_progress const& progress);
webhook_head read_head(transaction& txn);
void put_head(transaction& txn, webhook_head const& head);

// nullopt: there is none, or it is unreadable.
std::optional<model::delivery> find_delivery(transaction& txn, model::id sequence,
                                             model::id webhook);
// Writes the delivery, and its entry among those that are pending.
void put_delivery(transaction& txn, model::id webhook, model::delivery const& delivery);
void erase_delivery(transaction& txn, model::id sequence, model::id webhook);
// Makes the first `limit` pending deliveries due now.
void make_due(transaction& txn, model::id webhook, std::size_t limit);

// Those that wait, in ascending order.
std::vector<model::webhook_replay> read_replays(transaction& txn, model::id webhook);
void put_replay(transaction& txn, model::id webhook, model::webhook_replay const& replay);

// Records a change of the webhook, if changes are recorded. The sequence of the change; 0: none.
model::id note_change(transaction& txn, model::change_type type, model::id caller,
                      webhook_entry const& entry);

}  // namespace latchkey::domain
