// Posts, their three indexes, and the counts of posts of each user.
#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {
namespace {

using model::post_status;

// By user, ascending, as the index by user and status has them.
using user_tallies = std::vector<std::pair<model::id, tally>>;

// Returns the number of posts, including those of deleted users.
std::uint64_t check_post_records(consistency_check& check) {
    tally counts{};
    auto const visit = [&](model::id id, model::post_view const& post) {
        check.check_time(post.updated_at, name("post", id));
        if ((post.status == post_status::draft && post.published_at != 0) ||
            (post.status == post_status::published && post.published_at == 0))
            check.report(name("post", id) +
                         " has a time of publication that its status cannot have");
        if (check.purged_users.contains(post.user_id)) return;
        ++counts[static_cast<std::size_t>(post.status)];
        if (!check.has(table::users, id_key(post.user_id)))
            check.report(name("post", id) + " belongs to " + name("user", post.user_id) +
                         ", which does not exist");
    };
    auto const count = walk_records(check, table::posts, {}, "post", check.counters.last_post,
                                    model::decode_post, visit);
    for (std::size_t i = 0; i < counts.size(); ++i)
        check.compare(name_of(static_cast<post_status>(i)), check.counters.posts[i], counts[i]);
    return count;
}

// The post that an entry of the index leads to; reports one that is missing or not of that user.
std::optional<model::post_view> indexed_post(consistency_check& check, std::string_view index,
                                             model::id post, model::id user) {
    auto view = check.post(post);
    if (view && view->user_id == user) return view;
    check.report(name("post", post) + " of " + name("user", user) + " is in the index " +
                 std::string(index) + " only");
    return std::nullopt;
}

void check_indexed_status(consistency_check& check, std::optional<model::post_view> const& post,
                          std::uint8_t status) {
    if (post && static_cast<std::uint8_t>(post->status) != status)
        check.report(name("post", post->id) + " is indexed under a status that it does not have");
}

void check_posts_by_user(consistency_check& check, std::uint64_t posts) {
    std::uint64_t count = 0;
    check.walk(table::index, key_bytes{tag::post_by_user}, [&](std::string_view key, auto) {
        ++count;
        base::reader input(key);
        auto const user = input.integer<model::id>();
        auto const post = input.integer<model::id>();
        if (!input.done())
            return check.report("an entry of the posts by user has a key of another form");
        indexed_post(check, "by user", post, user);
    });
    check.compare("posts by user", posts, count);
}

void check_posts_by_status(consistency_check& check, std::uint64_t posts) {
    std::uint64_t count = 0;
    auto const visit = [&](std::string_view key, std::string_view content) {
        ++count;
        base::reader input(key);
        auto const status = input.integer<std::uint8_t>();
        auto const post = input.integer<model::id>();
        auto const user = read_id(content);
        if (!input.done() || !user)
            return check.report("an entry of the posts by status has another form");
        check_indexed_status(check, indexed_post(check, "by status", post, *user), status);
    };
    check.walk(table::index, key_bytes{tag::post_by_status}, visit);
    check.compare("posts by status", posts, count);
}

user_tallies check_posts_by_user_and_status(consistency_check& check, std::uint64_t posts) {
    std::uint64_t count = 0;
    user_tallies tallies;
    auto const visit = [&](std::string_view key, std::string_view) {
        ++count;
        base::reader input(key);
        auto const user = input.integer<model::id>();
        auto const status = input.integer<std::uint8_t>();
        auto const post = input.integer<model::id>();
        if (!input.done() || status >= model::post_status_count)
            return check.report(
                "an entry of the posts by user and status has a key of another form");
        check_indexed_status(check, indexed_post(check, "by user and status", post, user), status);
        if (check.purged_users.contains(user)) return;
        if (tallies.empty() || tallies.back().first != user) tallies.push_back({user, {}});
        ++tallies.back().second[status];
    };
    check.walk(table::index, key_bytes{tag::post_by_user_status}, visit);
    check.compare("posts by user and status", posts, count);
    return tallies;
}

// A merge of two ascending lists: the counts in the store and those of the index.
void check_tallies(consistency_check& check, user_tallies const& tallies) {
    std::size_t next = 0;
    auto const visit = [&](std::string_view key, std::string_view content) {
        auto const user = read_id(key);
        auto const numbers = decode_tally(content);
        if (!user || !numbers) return check.report("the counts of a user have another form");
        for (; next < tallies.size() && tallies[next].first < *user; ++next)
            check.report(name("user", tallies[next].first) + " has posts and no counts");
        if (next == tallies.size() || tallies[next].first != *user)
            return check.report(name("user", *user) + " has counts and no posts");
        if (tallies[next++].second != *numbers)
            check.report(name("user", *user) + " has counts that differ from its posts");
    };
    check.walk(table::index, key_bytes{tag::tally}, visit);
    for (; next < tallies.size(); ++next)
        check.report(name("user", tallies[next].first) + " has posts and no counts");
}

}  // namespace

void check_posts(consistency_check& check) {
    auto const posts = check_post_records(check);
    check_posts_by_user(check, posts);
    check_posts_by_status(check, posts);
    check_tallies(check, check_posts_by_user_and_status(check, posts));
}

}  // namespace latchkey::domain
