// Lists: which index serves a filter, and which part of it is given out. Everything is walked by
// cursor; `skip` starts from whichever end is nearer, so the last page costs as much as the first.
#include "store/list_part.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::store {

listed snapshot::users(range const& part, user_sink each) const {
    auto& from = *state_;
    id_walk walk(from.cursor(table::users), key_bytes{});
    auto const give = [&] {
        auto const user = from.readable(model::decode_user(walk.id(), walk.value()));
        if (user) each(*user);
        return user.has_value();
    };
    return part_of_list(walk, part, from.heads().users, [] { return true; }, give).give_out();
}

listed snapshot::posts(post_filter const& filter, range const& part, post_sink each) const {
    auto& from = *state_;
    auto const give = [&](model::id id, std::optional<std::string_view> bytes) {
        auto const post = from.readable(bytes ? model::decode_post(id, *bytes) : std::nullopt);
        if (post) each(*post);
        return post.has_value();
    };
    if (!filter.user_id && !filter.status) {
        id_walk walk(from.cursor(table::posts), key_bytes{});
        // Only as long as posts of deleted users are being removed is a record read to be skipped.
        auto const counts = [&] {
            if (from.heads().purges == 0) return true;
            auto const post = model::decode_post(walk.id(), walk.value());
            return !post || !from.is_doomed(post->user_id);
        };
        auto const total = sum_of(from.heads().posts);
        return part_of_list(walk, part, total, counts,
                            [&] { return give(walk.id(), walk.value()); })
            .give_out();
    }
    auto const at = filter.status ? static_cast<std::size_t>(*filter.status) : 0;
    auto const numbers = filter.user_id ? from.posts_of(*filter.user_id) : from.heads().posts;
    auto const total = filter.status ? numbers[at] : sum_of(numbers);
    auto const prefix = !filter.user_id  ? posts_in(*filter.status)
                        : !filter.status ? posts_of_user(*filter.user_id)
                                         : posts_of_user_in(*filter.user_id, *filter.status);
    id_walk walk(from.cursor(table::index), prefix);
    // With a user in the filter, a deleted one has no posts by its count.
    auto const counts = [&] {
        if (filter.user_id || from.heads().purges == 0) return true;
        auto const user = read_id(walk.value());
        return !user || !from.is_doomed(*user);
    };
    auto const give_indexed = [&] {
        return give(walk.id(), from.get(table::posts, id_key(walk.id())));
    };
    return part_of_list(walk, part, total, counts, give_indexed).give_out();
}

}  // namespace latchkey::store
