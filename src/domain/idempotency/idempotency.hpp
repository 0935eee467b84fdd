// Outcomes under Idempotency-Keys (api.md §9) within a transaction: looked up again, since another
// commit may have added one after the worker looked; kept with the write itself; removed by the
// writer when they have expired. Private to the domain.
#pragma once

#include "domain/command.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// The outcome that is kept under the key, or the rejection of a different request; nullopt: none.
std::optional<outcome> find_outcome(transaction& txn, idempotency const& idempotency);
// Keeps an outcome for 24 hours, unless the store is so full that only deletions are admitted: a
// repeated deletion has the same result.
void keep_outcome(transaction& txn, idempotency const& idempotency, outcome const& outcome);
bool has_expired_outcomes(transaction& txn);
// Removes up to `limit` expired outcomes. True: there are more.
bool expire_outcomes(transaction& txn, std::size_t limit);

}  // namespace latchkey::domain
