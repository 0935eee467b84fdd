// The entry point of every command within a transaction. Private to the domain.
#pragma once

#include <optional>

#include "domain/command.hpp"
#include "model/scope.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// The last caller that a transaction has found entitled, so that a thousand commands of one key
// read its record once. It holds until a key is changed.
struct checked_caller {
    model::id key = 0;
    std::optional<model::scope> required_scope;
    std::uint64_t key_epoch = 0;
};

// Judges the caller, answers a repeat under an Idempotency-Key with the kept outcome, else runs the
// command. The outcome counts only if `txn.ok()` afterwards. `last` belongs to the transaction.
outcome decide(transaction& txn, command const& command, checked_caller& last);

}  // namespace latchkey::domain
