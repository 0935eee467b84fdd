// Removing posts. Those of a deleted user go with it when they are few; otherwise the user stands
// under tag::purge until its posts are gone, batch by batch, also after a restart. Counts were
// adjusted when the user went, so nothing here touches them.
#include <tuple>

#include "store/commands.hpp"

namespace latchkey::store {

void erase_post(transaction& in, model::post_view const& post) {
    auto const [id, user, status] = std::tuple(post.id, post.user_id, post.status);
    in.erase(table::posts, id_key(id));
    in.erase(table::index, posts_of_user(user).add(id));
    in.erase(table::index, posts_in(status).add(id));
    in.erase(table::index, posts_of_user_in(user, status).add(id));
}

std::size_t erase_posts_of(transaction& in, model::id user, std::size_t most) {
    auto const ids = in.ids_under(posts_of_user(user), most);
    for (auto const id : ids) {
        auto const bytes = in.get(table::posts, id_key(id));
        auto const view = bytes ? model::decode_post(id, *bytes) : std::nullopt;
        model::post_view post;
        post.id = id;
        post.user_id = user;
        // A record that cannot be read must not keep the rest from going: look in every status.
        for (std::size_t i = 0; i < model::post_status_count && !view; ++i) {
            post.status = static_cast<model::post_status>(i);
            erase_post(in, post);
        }
        if (!view) continue;
        post.status = view->status;
        erase_post(in, post);
    }
    return ids.size();
}

bool is_doomed(transaction& in, model::id user) {
    return in.heads().purges != 0 && in.has(table::index, purge_key(user));
}

void purge_some(transaction& in, std::size_t most) {
    while (most != 0 && in.heads().purges != 0 && in.failure() == 0) {
        auto const users = in.ids_under(key_bytes{tag::purge}, 1);
        if (users.empty()) return in.fail(MDB_CORRUPTED);
        auto const user = users.front();
        auto const gone = erase_posts_of(in, user, most);
        in.weigh(gone);
        most -= gone;
        if (most == 0) return;  // perhaps that was the last one; the next batch finds out
        in.erase(table::index, purge_key(user));
        --in.heads().purges;
    }
}

}  // namespace latchkey::store
