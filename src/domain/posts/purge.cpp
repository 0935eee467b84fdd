#include "domain/posts/purge.hpp"

#include "domain/changes/change_log.hpp"
#include "domain/posts/post_record.hpp"

namespace latchkey::domain {

std::size_t erase_posts_of(transaction& txn, model::id user, std::size_t limit, model::id caller) {
    std::size_t erased = 0, change_bytes = 0;
    for (auto const id : txn.ids_with_prefix(posts_of_user(user), limit)) {
        if (change_bytes > purge_bytes_told_max) break;
        auto const bytes = txn.find(table::posts, id_key(id));
        auto const view = bytes ? model::decode_post(id, *bytes) : std::nullopt;
        ++erased;
        // An unreadable record must not block the rest: erase the entries of every status.
        for (std::size_t i = 0; i < model::post_status_count && !view; ++i)
            erase_post(txn, id, user, static_cast<model::post_status>(i));
        if (!view) continue;
        auto const status = view->status;
        if (txn.records_changes()) {
            if (txn.capacity().grow) change_bytes += bytes->size();
            note_change(txn, model::change_type::post_deleted, caller, model::copy_of(*view));
        }
        erase_post(txn, id, user, status);
    }
    return erased;
}

bool is_being_purged(transaction& txn, model::id user) {
    return txn.counters().purges != 0 && txn.has(table::index, purge_key(user));
}

void purge_posts(transaction& txn, std::size_t limit) {
    while (limit != 0 && txn.counters().purges != 0 && txn.ok()) {
        auto const users = txn.ids_with_prefix(key_bytes{tag::purge}, 1);
        if (users.empty()) return txn.fail(MDB_CORRUPTED);
        auto const user = users.front();
        auto const removed = erase_posts_of(txn, user, limit, 0);
        txn.add_weight(removed);
        limit -= removed;
        // Where the limit is reached it may have been the last post; the next batch will tell.
        if (limit == 0 || txn.first_key_with_prefix(posts_of_user(user))) return;
        txn.erase(table::index, purge_key(user));
        --txn.counters().purges;
    }
}

}  // namespace latchkey::domain
