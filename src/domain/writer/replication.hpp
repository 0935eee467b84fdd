// The steps that every path of writing takes in a cluster, around transaction::commit: it applies
// rows of others while nothing is decided, fetches the rows that were missing when its own row
// lost, and finds out whether a row has won. Called by the owner of the write lock's thread;
// private to the domain.
#pragma once

#include "base/function_ref.hpp"
#include "domain/store_terms.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

inline constexpr int rounds_max = 64;  // that whoever decides may lose before it is refused

// Applies all rows that have arrived, in as many transactions as they take. Failures: rows_blocked,
// row_newer, EBUSY, row_unknown …
commit_result apply_arrived_rows(environment_state& store);

// Ends the turn of appending that a transaction of this node has taken, if one has, without an
// append: other nodes need not wait for it any more.
void give_up_turn(environment_state& store);

// After row_unknown. `won`: the row is applied with the next transaction. `unknown`: ask again.
append_result resolve_own_row(environment_state& store);
// The same, repeated for at most half a minute; for commands, which have nothing else to do.
append_result await_own_row(environment_state& store);

// Runs `write` in a transaction and commits it; in a cluster again, from the beginning, as long as
// other rows win. `write` returns false to write nothing; it is to set all that it sets each time.
commit_result commit_in_order(environment_state& store,
                              base::function_ref<bool(transaction&)> write);

}  // namespace latchkey::domain
