#include "store/write/purge.hpp"

#include "store/records/post_record.hpp"

namespace latchkey::store {

std::size_t erase_posts_of(transaction& txn, model::id user, std::size_t limit) {
    auto const ids = txn.ids_with_prefix(posts_of_user(user), limit);
    for (auto const id : ids) {
        auto const bytes = txn.find(table::posts, id_key(id));
        auto const view = bytes ? model::decode_post(id, *bytes) : std::nullopt;
        model::post_view post;
        post.id = id;
        post.user_id = user;
        // An unreadable record must not block the rest: erase the entries of every status.
        for (std::size_t i = 0; i < model::post_status_count && !view; ++i) {
            post.status = static_cast<model::post_status>(i);
            erase_post(txn, post);
        }
        if (!view) continue;
        post.status = view->status;
        erase_post(txn, post);
    }
    return ids.size();
}

bool is_being_purged(transaction& txn, model::id user) {
    return txn.counters().purges != 0 && txn.has(table::index, purge_key(user));
}

void purge_posts(transaction& txn, std::size_t limit) {
    while (limit != 0 && txn.counters().purges != 0 && txn.failure() == 0) {
        auto const users = txn.ids_with_prefix(key_bytes{tag::purge}, 1);
        if (users.empty()) return txn.fail(MDB_CORRUPTED);
        auto const user = users.front();
        auto const removed = erase_posts_of(txn, user, limit);
        txn.add_weight(removed);
        limit -= removed;
        if (limit == 0) return;  // that may have been the last post; the next batch will tell
        txn.erase(table::index, purge_key(user));
        --txn.counters().purges;
    }
}

}  // namespace latchkey::store
