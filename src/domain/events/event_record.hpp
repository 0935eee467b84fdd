// Writing and erasing an event within a transaction, together with its entry in the list of its
// source, its marks and the counts. Private to the domain.
#pragma once

#include "domain/store_terms.hpp"
#include "model/event.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// Writes a new event; `event.id` must be above the last id.
void put_event(transaction& txn, model::event_view const& event);
// Erases an event; if its record cannot be read, only that and the count. Invalidates its view.
void erase_event(transaction& txn, model::id id);
// Changes the time of receipt, in the record and under its marks. Invalidates its view.
void redate_event(transaction& txn, model::event_view const& event, base::wall_ms received_at);
// Removes events beyond their retention, up to about `limit` in weight (a large one counts more).
// True: there are more.
bool expire_events(transaction& txn, std::size_t limit);

}  // namespace latchkey::domain
