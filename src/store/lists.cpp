// Lists: which index serves a filter, and which part of it is given out. Everything is walked by
// cursor; `skip` starts from whichever end is nearer, so the last page costs as much as the first.
#include <algorithm>

#include "store/id_walk.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::store {
namespace {

// `Counts` says whether the element that the walk stands on belongs to the list at all; `Give`
// hands it out and says whether it could.
template <class Counts, class Give>
class part_of_list {
  public:
    part_of_list(id_walk& walk, range const& part, std::uint64_t total, Counts counts, Give give)
        : walk_(walk), part_(part), total_(total), counts_(counts), give_(give) {}

    listed give_out() {
        listed answer{.total = total_};
        if (total_ == 0) return answer;
        bool there = begin();
        for (std::uint32_t given = 0; there && given < part_.limit; there = step(true))
            if (give_()) ++given, answer.last = walk_.id();
        answer.has_more = there;
        return answer;
    }

  private:
    // Onto the first element of the part.
    bool begin() {
        if (part_.after == 0 && part_.skip >= total_) return false;
        if (part_.after == 0 && part_.skip > total_ / 2) {
            auto back = total_ - 1 - part_.skip;
            bool there = onto(end(false), false);
            for (; there && back != 0; --back) there = step(false);
            return there;
        }
        bool there = onto(part_.after == 0 ? end(true) : behind(part_.after), true);
        for (auto skip = part_.skip; there && skip != 0; --skip) there = step(true);
        return there;
    }

    // The list's first element, or its last one, in the order that was asked for.
    bool end(bool front) { return front != part_.descending ? walk_.first() : walk_.last(); }
    bool behind(model::id id) {
        return part_.descending ? walk_.below(id) : walk_.at_or_above(id + 1);
    }
    bool move(bool forward) {
        return forward != part_.descending ? walk_.next() : walk_.previous();
    }
    bool step(bool forward) { return onto(move(forward), forward); }
    bool onto(bool there, bool forward) {
        while (there && !counts_()) there = move(forward);
        return there;
    }

    id_walk& walk_;
    range const& part_;
    std::uint64_t total_;
    Counts counts_;
    Give give_;
};

}  // namespace

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
