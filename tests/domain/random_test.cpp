// Model-based test: thousands of random commands against a store and against maps; every outcome,
// and every list in every order and page, must be equal.
#include <map>
#include <random>

#include "support.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

// The expected behaviour of users and posts, as maps.
class reference {
  public:
    std::map<model::id, model::user> users;
    std::map<model::id, model::post> posts;
    model::id last_user = 0, last_post = 0;

    problem apply(command const& command) {
        return std::visit([&](auto const& action) { return run(action, command); }, command.action);
    }

  private:
    bool is_taken(std::string const& email, model::id except) const {
        for (auto const& [id, user] : users)
            if (id != except && model::folded_email(user.email) == model::folded_email(email))
                return true;
        return false;
    }
    problem run(create_user const& action, command const& command) {
        if (!command.faults.empty()) return problem::validation_failed;
        if (is_taken(action.email, 0)) return problem::email_taken;
        ++last_user;
        users[last_user] = {last_user, action.name, action.email};
        return problem::none;
    }
    problem run(change_user const& action, command const& command) {
        auto const position = users.find(action.id);
        if (position == users.end())
            return command.faults.empty() ? problem::not_found : problem::validation_failed;
        if (!command.faults.empty() || action.expected.id.value_or(action.id) != action.id)
            return problem::validation_failed;
        if (action.email && is_taken(*action.email, action.id)) return problem::email_taken;
        if (action.name) position->second.name = *action.name;
        if (action.email) position->second.email = *action.email;
        return problem::none;
    }
    problem run(delete_user const& action, command const&) {
        if (users.erase(action.id) == 0) return problem::not_found;
        std::erase_if(posts, [&](auto const& each) { return each.second.user_id == action.id; });
        return problem::none;
    }
    problem run(create_post const& action, command const& command) {
        if (!command.faults.empty() || !users.contains(*action.user_id))
            return problem::validation_failed;
        ++last_post;
        posts[last_post] = {last_post, *action.user_id, action.title, action.body, action.status};
        return problem::none;
    }
    problem run(change_post const& action, command const& command) {
        auto const position = posts.find(action.id);
        if (position == posts.end())
            return command.faults.empty() ? problem::not_found : problem::validation_failed;
        auto& post = position->second;
        if (!command.faults.empty() ||
            action.expected.user_id.value_or(post.user_id) != post.user_id)
            return problem::validation_failed;
        if (action.status && !model::can_become(post.status, *action.status))
            return problem::invalid_state_transition;
        if (action.title) post.title = *action.title;
        if (action.body) post.body = *action.body;
        if (action.status) post.status = *action.status;
        return problem::none;
    }
    problem run(delete_post const& action, command const&) {
        return posts.erase(action.id) == 0 ? problem::not_found : problem::none;
    }
    template <class Action>  // commands about keys
    problem run(Action const&, command const&) {
        return problem::none;
    }
};

class random_commands {
  public:
    explicit random_commands(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool chance(unsigned percent) { return below(100) < percent; }

    command next(reference const& model) {
        auto const user = some_id(model.last_user), post = some_id(model.last_post);
        command request;
        auto const pick = below(100);
        if (pick < 20) {
            request.action = create_user{text(), email()};
        } else if (pick < 30) {
            request.action =
                change_user{.id = user, .name = maybe(text()), .email = maybe(email())};
            if (chance(10))
                std::get<change_user>(request.action).expected.id = some_id(model.last_user);
        } else if (pick < 34) {
            request.action = delete_user{user};
        } else if (pick < 69) {
            request.action = create_post{user, text(), body(), status()};
        } else if (pick < 90) {
            request.action = change_post{.id = post, .title = maybe(text()), .body = maybe(body())};
            if (chance(60)) std::get<change_post>(request.action).status = status();
            if (chance(10)) std::get<change_post>(request.action).expected.user_id = user;
        } else {
            request.action = delete_post{post};
        }
        if (chance(3) && !std::holds_alternative<delete_user>(request.action) &&
            !std::holds_alternative<delete_post>(request.action))
            request.faults.push_back({.location = "/x"});
        return request;
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

void expect_list(snapshot const& view, reference const& model, post_filter const& filter,
                 range const& part) {
    std::vector<model::id> matching;
    for (auto const& [id, post] : model.posts)
        if (filter.user_id.value_or(post.user_id) == post.user_id &&
            filter.status.value_or(post.status) == post.status)
            matching.push_back(id);
    auto const total = matching.size();
    if (part.descending) std::reverse(matching.begin(), matching.end());
    if (part.after_id != 0)
        std::erase_if(matching, [&](model::id id) {
            return part.descending ? id >= part.after_id : id <= part.after_id;
        });
    matching.erase(matching.begin(),
                   matching.begin() + static_cast<std::ptrdiff_t>(
                                          std::min<std::size_t>(part.skip, matching.size())));
    bool const more = matching.size() > part.limit;
    if (more) matching.resize(part.limit);

    std::vector<model::id> ids;
    auto const answer = view.posts(filter, part, [&](model::post_view const& post) {
        ids.push_back(post.id);
        auto const& expected = model.posts.at(post.id);
        EXPECT_EQ(post.title, expected.title);
        EXPECT_EQ(post.body, expected.body);
        EXPECT_EQ(post.status, expected.status);
        EXPECT_EQ(post.user_id, expected.user_id);
    });
    EXPECT_EQ(ids, matching);
    EXPECT_EQ(answer.total, total);
    EXPECT_EQ(answer.has_more, more);
    EXPECT_EQ(answer.last, ids.empty() ? 0 : ids.back());
}

void expect_same(snapshot const& view, reference const& model, random_commands& random) {
    for (model::id id = 1; id <= model.last_user + 1; ++id) {
        auto const user = view.user(id);
        ASSERT_EQ(user.has_value(), model.users.contains(id));
        if (!user) continue;
        EXPECT_EQ(user->name, model.users.at(id).name);
        EXPECT_EQ(user->email, model.users.at(id).email);
        EXPECT_EQ(view.user_with_email(model.users.at(id).email), id);
    }
    for (int i = 0; i < 100; ++i) {
        auto const id = 1 + static_cast<model::id>(
                                random.below(static_cast<std::uint64_t>(model.last_post) + 1));
        EXPECT_EQ(view.post(id).has_value(), model.posts.contains(id));
    }
    EXPECT_EQ(view.users({}, [](auto const&) {}).total, model.users.size());
    for (int i = 0; i < 40; ++i) {
        post_filter filter;
        if (random.chance(50))
            filter.user_id = 1 + static_cast<model::id>(
                                     random.below(static_cast<std::uint64_t>(model.last_user) + 1));
        if (random.chance(50)) filter.status = static_cast<model::post_status>(random.below(3));
        range part{.limit = static_cast<std::uint32_t>(1 + random.below(40)),
                   .descending = random.chance(50)};
        if (random.chance(40))
            part.skip = random.below(model.posts.size() + 5);
        else if (random.chance(60))
            part.after_id = 1 + static_cast<model::id>(
                                    random.below(static_cast<std::uint64_t>(model.last_post) + 2));
        expect_list(view, model, filter, part);
    }
    EXPECT_FALSE(view.damaged());
}

class random_stores : public testing::TestWithParam<std::uint64_t> {};

TEST_P(random_stores, agree_with_a_model_of_maps) {
    temporary_directory const directory;
    auto store = open_store(directory.path());
    reference model;
    random_commands random(GetParam());
    for (int round = 0; round < 60; ++round) {
        std::vector<command> group;
        std::vector<problem> expected;
        auto const size = 1 + random.below(64);
        for (std::size_t i = 0; i < size; ++i) {
            group.push_back(random.next(model));
            expected.push_back(model.apply(group.back()));
        }
        auto const outcomes = apply(*store, group).value();
        for (std::size_t i = 0; i < size; ++i)
            ASSERT_EQ(base::describe(outcomes[i].problem).name, base::describe(expected[i]).name)
                << "round " << round << ", command " << i;
        if (round % 20 == 13) {
            store.reset();
            store = open_store(directory.path());
        }
        snapshot view(*store);
        view.renew();
        expect_same(view, model, random);
        view.reset();
        if (round % 6 == 0) expect_sound(*store);
        if (HasFailure()) break;
    }
    expect_sound(*store);
}

INSTANTIATE_TEST_SUITE_P(seeds, random_stores, testing::Range<std::uint64_t>(1, 6));

}  // namespace
}  // namespace latchkey::domain
