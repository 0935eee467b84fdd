// Lists of posts: chooses the index that serves a filter.
#include "domain/frame/list_part.hpp"
#include "domain/posts/purging_users.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

list_result snapshot::posts(post_filter const& filter, range const& part, post_sink sink) const {
    auto& state = *state_;
    auto const emit = [&](model::id id, std::optional<std::string_view> bytes) {
        auto const post = state.readable(bytes ? model::decode_post(id, *bytes) : std::nullopt);
        if (post) sink(*post);
        return post.has_value();
    };
    if (!filter.user_id && !filter.status) {
        id_walk walk(state, table::posts, key_bytes{});
        // A record is read to decide this only while posts of deleted users are being removed.
        auto const includes = [&] {
            if (state.counters().purges == 0) return true;
            auto const bytes = walk.content();
            auto const post = bytes ? model::decode_post(walk.id(), *bytes) : std::nullopt;
            return !post || !is_being_purged(state, post->user_id);
        };
        auto const total = sum_of(state.counters().posts);
        return list_part(walk, part, total, includes,
                         [&] { return emit(walk.id(), walk.content()); })
            .emit();
    }
    auto const index = filter.status ? static_cast<std::size_t>(*filter.status) : 0;
    auto const numbers = filter.user_id ? state.posts_of(*filter.user_id) : state.counters().posts;
    auto const total = filter.status ? numbers[index] : sum_of(numbers);
    auto const prefix = !filter.user_id  ? posts_in(*filter.status)
                        : !filter.status ? posts_of_user(*filter.user_id)
                                         : posts_of_user_in(*filter.user_id, *filter.status);
    id_walk walk(state, table::index, prefix);
    // With a user in the filter: the count of a deleted user is 0.
    auto const includes = [&] {
        if (filter.user_id || state.counters().purges == 0) return true;
        auto const bytes = walk.content();
        auto const user = bytes ? read_id(*bytes) : std::nullopt;
        return !user || !is_being_purged(state, *user);
    };
    auto const emit_indexed = [&] {
        if (!walk.content()) return false;
        return emit(walk.id(), state.listed_record(table::posts, walk.id()));
    };
    return list_part(walk, part, total, includes, emit_indexed).emit();
}

}  // namespace latchkey::domain
