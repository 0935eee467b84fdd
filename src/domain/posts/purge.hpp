// Removing the posts of deleted users. A user with few posts goes with all of them in one commit;
// otherwise the user is recorded under tag::purge until its posts are gone, batch by batch, also
// across restarts. Counts are adjusted when the user is deleted, so nothing here touches them.
// Private to the domain.
#pragma once

#include "domain/store_terms.hpp"
#include "model/user.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// Erases up to `limit` posts of a user, as changes of `caller`; returns how many. Fewer if they are
// large and changes are recorded.
std::size_t erase_posts_of(transaction& txn, model::id user, std::size_t limit, model::id caller);
bool is_being_purged(transaction& txn, model::id user);
// Erases up to `limit` posts of deleted users.
void purge_posts(transaction& txn, std::size_t limit);

}  // namespace latchkey::domain
