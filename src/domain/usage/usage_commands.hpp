// When keys were last used, and how much by minute, hour and day (api.md §4). The counts of a
// minute are added to all three granularities in one transaction, so a day is always the sum of its
// hours. Private to the domain.
#pragma once

#include "domain/store_terms.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// Removes up to `limit` entries whose retention has ended; true: there may be more.
bool expire_usage(transaction& txn, std::size_t limit);

}  // namespace latchkey::domain
