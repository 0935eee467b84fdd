// The entry point of every command within a transaction. Private to the store.
#pragma once

#include "store/command.hpp"
#include "store/engine/transaction.hpp"

namespace latchkey::store {

// Judges the caller, answers a repeat under an Idempotency-Key with the kept outcome, else runs the
// command. The outcome counts only if `txn.failure()` is 0 afterwards.
outcome decide(transaction& txn, command const& command);

}  // namespace latchkey::store
