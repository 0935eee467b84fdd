// Writing the record and the index entry of a user; the caller moves `counters().last_user`.
// Private to the domain.
#pragma once

#include "domain/store_terms.hpp"
#include "model/user.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// Writes a new record and counts it. `appended`: its id is above all others (see
// transaction::append).
void insert_user(transaction& txn, model::user const& user, bool appended);
void index_user(transaction& txn, std::string_view folded_email, model::id id);

}  // namespace latchkey::domain
