// Writing and erasing the record, the index entries and the counts of a post. Private to the
// domain.
#pragma once

#include "domain/store_terms.hpp"
#include "model/post.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// Writes a new record; the caller moves `counters().last_post`. `appended`: its id is above all
// others (see transaction::append).
void insert_post(transaction& txn, model::post const& post, bool appended);
// Writes the entries of all indexes of posts.
void index_post(transaction& txn, model::post const& post);
// Writes the entries of the indexes by status.
void index_status(transaction& txn, model::post const& post);
// Erases the record and its index entries; counts are the caller's.
void erase_post(transaction& txn, model::id id, model::id user, model::post_status status);

// Counts of the store and of the user: one post more or less (`step` is 1 or -1), or many new ones.
void count_post(transaction& txn, model::id user, model::post_status status, int step);
void count_new_posts(transaction& txn, model::id user, tally const& numbers);

}  // namespace latchkey::domain
