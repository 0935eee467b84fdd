// The effects that a change of one kind of record has on another kind, whose folder defines them:
// so a kind includes none that builds on it. In the transaction of the change. Private to the
// store.
#pragma once

#include <vector>

#include "domain/command.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// Erases the deliveries of a change that is erased. (webhook_entries.cpp)
void erase_deliveries_of(transaction& txn, model::id sequence);

// Disables the webhooks that a deactivated key has made: whoever had the key may have had changes
// sent anywhere. Their ids in ascending order. (webhook_access.cpp)
std::vector<model::id> disable_webhooks_of(transaction& txn, command const& command, model::id key);

}  // namespace latchkey::domain
