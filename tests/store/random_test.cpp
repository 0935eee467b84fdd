// Thousands of random commands against a store and against maps; then every answer, and every list
// in every order and page, must be the same.
#include <map>
#include <random>

#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

class reference {
  public:
    std::map<model::id, model::user> users;
    std::map<model::id, model::post> posts;
    model::id last_user = 0, last_post = 0;

    problem judge(command const& what) {
        return std::visit([&](auto const& each) { return run(each, what); }, what.what);
    }

  private:
    bool taken(std::string const& email, model::id by_other_than) const {
        for (auto const& [id, user] : users)
            if (id != by_other_than &&
                model::folded_email(user.email) == model::folded_email(email))
                return true;
        return false;
    }
    problem run(create_user const& what, command const& whole) {
        if (!whole.faults.empty()) return problem::validation_failed;
        if (taken(what.email, 0)) return problem::email_taken;
        ++last_user;
        users[last_user] = {last_user, what.name, what.email};
        return problem::none;
    }
    problem run(change_user const& what, command const& whole) {
        auto const at = users.find(what.id);
        if (at == users.end())
            return whole.faults.empty() ? problem::not_found : problem::validation_failed;
        if (!whole.faults.empty() || what.expected.id.value_or(what.id) != what.id)
            return problem::validation_failed;
        if (what.email && taken(*what.email, what.id)) return problem::email_taken;
        if (what.name) at->second.name = *what.name;
        if (what.email) at->second.email = *what.email;
        return problem::none;
    }
    problem run(delete_user const& what, command const&) {
        if (users.erase(what.id) == 0) return problem::not_found;
        std::erase_if(posts, [&](auto const& each) { return each.second.user_id == what.id; });
        return problem::none;
    }
    problem run(create_post const& what, command const& whole) {
        if (!whole.faults.empty() || !users.contains(*what.user_id))
            return problem::validation_failed;
        ++last_post;
        posts[last_post] = {last_post, *what.user_id, what.title, what.body, what.status};
        return problem::none;
    }
    problem run(change_post const& what, command const& whole) {
        auto const at = posts.find(what.id);
        if (at == posts.end())
            return whole.faults.empty() ? problem::not_found : problem::validation_failed;
        auto& post = at->second;
        if (!whole.faults.empty() || what.expected.user_id.value_or(post.user_id) != post.user_id)
            return problem::validation_failed;
        if (what.status && !model::can_become(post.status, *what.status))
            return problem::invalid_state_transition;
        if (what.title) post.title = *what.title;
        if (what.body) post.body = *what.body;
        if (what.status) post.status = *what.status;
        return problem::none;
    }
    problem run(delete_post const& what, command const&) {
        return posts.erase(what.id) == 0 ? problem::not_found : problem::none;
    }
    template <class About>  // everything about keys
    problem run(About const&, command const&) {
        return problem::none;
    }
};

class random_commands {
  public:
    explicit random_commands(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool chance(unsigned percent) { return below(100) < percent; }

    command next(reference const& now) {
        auto const user = some_id(now.last_user), post = some_id(now.last_post);
        command what;
        auto const pick = below(100);
        if (pick < 20) {
            what.what = create_user{text(), email()};
        } else if (pick < 30) {
            what.what = change_user{.id = user, .name = maybe(text()), .email = maybe(email())};
            if (chance(10)) std::get<change_user>(what.what).expected.id = some_id(now.last_user);
        } else if (pick < 34) {
            what.what = delete_user{user};
        } else if (pick < 69) {
            what.what = create_post{user, text(), body(), status()};
        } else if (pick < 90) {
            what.what = change_post{.id = post, .title = maybe(text()), .body = maybe(body())};
            if (chance(60)) std::get<change_post>(what.what).status = status();
            if (chance(10)) std::get<change_post>(what.what).expected.user_id = user;
        } else {
            what.what = delete_post{post};
        }
        if (chance(3) && !std::holds_alternative<delete_user>(what.what) &&
            !std::holds_alternative<delete_post>(what.what))
            what.faults.push_back({.at = "/x"});
        return what;
    }

  private:
    model::id some_id(model::id last) {
        return 1 + static_cast<model::id>(below(static_cast<std::uint64_t>(last) + 2));
    }
    model::post_status status() { return static_cast<model::post_status>(below(3)); }
    std::string text() { return std::string(1 + below(30), static_cast<char>('a' + below(26))); }
    std::string body() { return std::string(chance(5) ? below(60'000) : below(300), 'b'); }
    std::string email() {
        return std::string(chance(50) ? "User" : "user") + std::to_string(below(200)) +
               "@example.org";
    }
    std::optional<std::string> maybe(std::string value) {
        return chance(60) ? std::optional(std::move(value)) : std::nullopt;
    }
    std::mt19937_64 random_;
};

void expect_list(snapshot const& seen, reference const& known, post_filter const& filter,
                 range const& part) {
    std::vector<model::id> matching;
    for (auto const& [id, post] : known.posts)
        if (filter.user_id.value_or(post.user_id) == post.user_id &&
            filter.status.value_or(post.status) == post.status)
            matching.push_back(id);
    auto const total = matching.size();
    if (part.descending) std::reverse(matching.begin(), matching.end());
    if (part.after != 0)
        std::erase_if(matching, [&](model::id id) {
            return part.descending ? id >= part.after : id <= part.after;
        });
    matching.erase(matching.begin(),
                   matching.begin() + static_cast<std::ptrdiff_t>(
                                          std::min<std::size_t>(part.skip, matching.size())));
    bool const more = matching.size() > part.limit;
    if (more) matching.resize(part.limit);

    std::vector<model::id> given;
    auto const answer = seen.posts(filter, part, [&](model::post_view const& post) {
        given.push_back(post.id);
        auto const& expected = known.posts.at(post.id);
        EXPECT_EQ(post.title, expected.title);
        EXPECT_EQ(post.body, expected.body);
        EXPECT_EQ(post.status, expected.status);
        EXPECT_EQ(post.user_id, expected.user_id);
    });
    EXPECT_EQ(given, matching);
    EXPECT_EQ(answer.total, total);
    EXPECT_EQ(answer.has_more, more);
    EXPECT_EQ(answer.last, given.empty() ? 0 : given.back());
}

void expect_same(snapshot const& seen, reference const& known, random_commands& random) {
    for (model::id id = 1; id <= known.last_user + 1; ++id) {
        auto const user = seen.user(id);
        ASSERT_EQ(user.has_value(), known.users.contains(id));
        if (!user) continue;
        EXPECT_EQ(user->name, known.users.at(id).name);
        EXPECT_EQ(user->email, known.users.at(id).email);
        EXPECT_EQ(seen.user_with_email(known.users.at(id).email), id);
    }
    for (int i = 0; i < 100; ++i) {
        auto const id = 1 + static_cast<model::id>(
                                random.below(static_cast<std::uint64_t>(known.last_post) + 1));
        EXPECT_EQ(seen.post(id).has_value(), known.posts.contains(id));
    }
    EXPECT_EQ(seen.users({}, [](auto const&) {}).total, known.users.size());
    for (int i = 0; i < 40; ++i) {
        post_filter filter;
        if (random.chance(50))
            filter.user_id = 1 + static_cast<model::id>(
                                     random.below(static_cast<std::uint64_t>(known.last_user) + 1));
        if (random.chance(50)) filter.status = static_cast<model::post_status>(random.below(3));
        range part{.limit = static_cast<std::uint32_t>(1 + random.below(40)),
                   .descending = random.chance(50)};
        if (random.chance(40))
            part.skip = random.below(known.posts.size() + 5);
        else if (random.chance(60))
            part.after = 1 + static_cast<model::id>(
                                 random.below(static_cast<std::uint64_t>(known.last_post) + 2));
        expect_list(seen, known, filter, part);
    }
    EXPECT_FALSE(seen.damaged());
}

class random_stores : public testing::TestWithParam<std::uint64_t> {};

TEST_P(random_stores, are_what_a_few_maps_would_be) {
    temporary_directory const directory;
    auto store = open_store(directory.path());
    reference known;
    random_commands random(GetParam());
    for (int round = 0; round < 60; ++round) {
        std::vector<command> group;
        std::vector<problem> expected;
        auto const size = 1 + random.below(64);
        for (std::size_t i = 0; i < size; ++i) {
            group.push_back(random.next(known));
            expected.push_back(known.judge(group.back()));
        }
        auto const outcomes = apply(*store, group).value();
        for (std::size_t i = 0; i < size; ++i)
            ASSERT_EQ(base::describe(outcomes[i].problem).name, base::describe(expected[i]).name)
                << "round " << round << ", command " << i;
        if (round % 20 == 13) store.reset(), store = open_store(directory.path());
        snapshot seen(*store);
        seen.renew();
        expect_same(seen, known, random);
        seen.reset();
        if (round % 6 == 0) expect_whole(*store);
        if (HasFailure()) break;
    }
    expect_whole(*store);
}

INSTANTIATE_TEST_SUITE_P(seeds, random_stores, testing::Range<std::uint64_t>(1, 6));

}  // namespace
}  // namespace latchkey::store
