#include "domain/posts/post_record.hpp"

namespace latchkey::domain {

void insert_post(transaction& txn, model::post const& post, bool appended) {
    encode(post, txn.scratch);
    if (appended)
        txn.append(table::posts, id_key(post.id), txn.scratch);
    else
        txn.put(table::posts, id_key(post.id), txn.scratch);
}

void index_post(transaction& txn, model::post const& post) {
    txn.put(table::index, posts_of_user(post.user_id).add(post.id), {});
    index_status(txn, post);
}

void count_new_posts(transaction& txn, model::id user, tally const& added) {
    auto const bytes = txn.get(table::index, tally_key(user));
    auto numbers = bytes ? decode_tally(*bytes) : tally{};
    if (!numbers) return txn.fail(MDB_CORRUPTED);
    for (std::size_t i = 0; i < added.size(); ++i) {
        (*numbers)[i] += added[i];
        txn.counters().posts[i] += added[i];
    }
    store::encode(*numbers, txn.scratch);
    txn.put(table::index, tally_key(user), txn.scratch);
}

void index_status(transaction& txn, model::post const& post) {
    std::array<char, 8> user;
    txn.put(table::index, posts_in(post.status).add(post.id), id_value(post.user_id, user));
    txn.put(table::index, posts_of_user_in(post.user_id, post.status).add(post.id), {});
}

void erase_post(transaction& txn, model::id id, model::id user, model::post_status status) {
    txn.erase(table::posts, id_key(id));
    txn.erase(table::index, posts_of_user(user).add(id));
    txn.erase(table::index, posts_in(status).add(id));
    txn.erase(table::index, posts_of_user_in(user, status).add(id));
}

void count_post(transaction& txn, model::id user, model::post_status status, int step) {
    auto const index = static_cast<std::size_t>(status);
    auto const bytes = txn.get(table::index, tally_key(user));
    auto numbers = bytes ? decode_tally(*bytes) : tally{};
    if (!numbers) return txn.fail(MDB_CORRUPTED);
    (*numbers)[index] += static_cast<std::uint64_t>(step);
    txn.counters().posts[index] += static_cast<std::uint64_t>(step);
    if (sum_of(*numbers) == 0) {
        txn.erase(table::index, tally_key(user));
        return;
    }
    store::encode(*numbers, txn.scratch);
    txn.put(table::index, tally_key(user), txn.scratch);
}

}  // namespace latchkey::domain
