#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

class users : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    snapshot seen_{*store_};

    model::user add(std::string name, std::string email) {
        return made_user(one(*store_, new_user(std::move(name), std::move(email))));
    }
    std::uint64_t version() {
        seen_.renew();
        return seen_.version();
    }
    void TearDown() override {
        seen_.reset();
        expect_whole(*store_);
    }
};

base::fault some_fault() {
    return {.at = "/name", .code = base::field_code::too_long};
}

std::vector<std::string> pointers(outcome const& answer) {
    EXPECT_EQ(answer.problem, problem::validation_failed);
    std::vector<std::string> all;
    for (auto const& each : answer.faults) all.push_back(each.at);
    return all;
}

TEST_F(users, are_created_with_ascending_ids_and_found) {
    auto const before = base::read_clocks().wall;
    auto const ann = add("Ann", "Ann@Example.org");
    auto const bob = add("Bob", "bob@example.org");
    EXPECT_EQ(ann.id, 1);
    EXPECT_EQ(bob.id, 2);
    EXPECT_GE(ann.created_at, before);
    EXPECT_EQ(ann.created_at, ann.updated_at);
    EXPECT_GE(bob.created_at, ann.created_at);
    seen_.renew();
    EXPECT_EQ(seen_.user(1)->name, "Ann");
    EXPECT_EQ(seen_.user(1)->email, "Ann@Example.org");
    EXPECT_EQ(seen_.user_with_email("aNN@exAMPLE.org"), 1);
    EXPECT_EQ(seen_.user_with_email("nobody@example.org"), std::nullopt);
    EXPECT_EQ(seen_.user_with_email(std::string(5000, 'a')), std::nullopt);
    EXPECT_FALSE(seen_.user(3));
    EXPECT_FALSE(seen_.user(0));
    EXPECT_FALSE(seen_.user(-1));
    EXPECT_FALSE(seen_.damaged());
}

// What was found is remembered for one version: by id and table, and for no other.
TEST_F(users, found_again_are_those_of_their_version) {
    for (int i = 1; i <= 600; ++i)
        add("user " + std::to_string(i), std::to_string(i) + "@example.org");
    made_post(one(*store_, new_post(7, "post 1")));
    seen_.renew();
    for (int round = 0; round < 3; ++round)
        for (model::id id = 1; id <= 600; ++id)
            ASSERT_EQ(seen_.user(id)->name, "user " + std::to_string(id));
    EXPECT_EQ(seen_.post(1)->title, "post 1");
    EXPECT_FALSE(seen_.post(2));
    EXPECT_FALSE(seen_.user(0));
    change_user renamed;
    renamed.id = 1;
    renamed.name = "renamed";
    EXPECT_EQ(one(*store_, {.what = renamed}).problem, problem::none);
    EXPECT_EQ(one(*store_, {.what = delete_user{2}}).problem, problem::none);
    EXPECT_EQ(seen_.user(1)->name, "user 1");
    EXPECT_EQ(seen_.user(2)->name, "user 2");
    seen_.renew();
    EXPECT_EQ(seen_.user(1)->name, "renamed");
    EXPECT_FALSE(seen_.user(2));
    EXPECT_EQ(seen_.user(258)->name, "user 258");
}

TEST_F(users, have_addresses_that_differ_by_more_than_case) {
    add("Ann", "Ann@Example.org");
    auto const before = version();
    EXPECT_EQ(one(*store_, new_user("Bob", "ann@example.ORG")).problem, problem::email_taken);
    EXPECT_EQ(version(), before);
}

TEST_F(users, with_faults_are_not_created) {
    auto what = new_user("Ann", "ann@example.org");
    what.faults.push_back(some_fault());
    auto const before = version();
    EXPECT_EQ(pointers(one(*store_, what)), std::vector<std::string>{"/name"});
    EXPECT_EQ(version(), before);
    add("Bob", "ann@example.org");
    // 422 comes before 409.
    EXPECT_EQ(one(*store_, what).problem, problem::validation_failed);
}

TEST_F(users, change_what_is_sent) {
    auto const ann = add("Ann", "ann@example.org");
    auto const renamed =
        made_user(one(*store_, {.what = change_user{.id = ann.id, .name = "Anna"}}));
    EXPECT_EQ(renamed.name, "Anna");
    EXPECT_EQ(renamed.email, ann.email);
    EXPECT_EQ(renamed.created_at, ann.created_at);
    EXPECT_GE(renamed.updated_at, ann.updated_at);
    auto const moved =
        made_user(one(*store_, {.what = change_user{.id = ann.id, .email = "anna@example.org"}}));
    EXPECT_EQ(moved.email, "anna@example.org");
    seen_.renew();
    EXPECT_EQ(seen_.user(ann.id)->name, "Anna");
    EXPECT_EQ(seen_.user_with_email("anna@example.org"), ann.id);
    EXPECT_EQ(seen_.user_with_email("ann@example.org"), std::nullopt);
    // The old address is free again.
    EXPECT_EQ(add("Ann", "ann@example.org").id, 2);
}

TEST_F(users, may_change_the_case_of_their_own_address) {
    auto const ann = add("Ann", "ann@example.org");
    auto const changed =
        made_user(one(*store_, {.what = change_user{.id = ann.id, .email = "Ann@Example.ORG"}}));
    EXPECT_EQ(changed.email, "Ann@Example.ORG");
    seen_.renew();
    EXPECT_EQ(seen_.user_with_email("ann@example.org"), ann.id);
}

TEST_F(users, cannot_take_the_address_of_another) {
    auto const ann = add("Ann", "ann@example.org");
    add("Bob", "bob@example.org");
    auto const before = version();
    EXPECT_EQ(
        one(*store_, {.what = change_user{.id = ann.id, .name = "x", .email = "BOB@example.org"}})
            .problem,
        problem::email_taken);
    EXPECT_EQ(version(), before);
    EXPECT_EQ(seen_.user(ann.id)->name, "Ann");
}

TEST_F(users, that_do_not_differ_are_not_written) {
    auto const ann = add("Ann", "ann@example.org");
    auto const before = version();
    for (auto const& what :
         {change_user{.id = ann.id}, change_user{.id = ann.id, .name = "Ann"},
          change_user{.id = ann.id, .name = "Ann", .email = "ann@example.org"}}) {
        auto const same = made_user(one(*store_, {.what = what}));
        EXPECT_EQ(same.updated_at, ann.updated_at);
        EXPECT_EQ(same.name, "Ann");
    }
    EXPECT_EQ(version(), before);
}

TEST_F(users, accept_read_only_members_that_are_unchanged) {
    auto const ann = add("Ann", "ann@example.org");
    expected_members sent{.id = ann.id, .created_at = ann.created_at, .updated_at = ann.updated_at};
    EXPECT_EQ(
        one(*store_, {.what = change_user{.id = ann.id, .name = "A", .expected = sent}}).problem,
        problem::none);
    // That moved updated_at, or not, by the clock; created_at is what it was.
    sent = {.id = ann.id + 1,
            .created_at = std::optional<base::wall_ms>(ann.created_at + 1),
            .updated_at = std::optional<base::wall_ms>()};
    command what{.what = change_user{.id = ann.id, .name = "B", .expected = sent}};
    what.faults.push_back(some_fault());
    EXPECT_EQ(pointers(one(*store_, what)),
              (std::vector<std::string>{"/name", "/id", "/created_at", "/updated_at"}));
    seen_.renew();
    EXPECT_EQ(seen_.user(ann.id)->name, "A");
}

TEST_F(users, that_are_not_there_are_404_but_422_when_the_body_was_wrong_anyway) {
    command what{.what = change_user{.id = 9, .name = "x", .expected = {.id = 8}}};
    EXPECT_EQ(one(*store_, what).problem, problem::not_found);
    what.faults.push_back(some_fault());
    EXPECT_EQ(pointers(one(*store_, what)), std::vector<std::string>{"/name"});
    EXPECT_EQ(one(*store_, {.what = delete_user{9}}).problem, problem::not_found);
}

TEST_F(users, go_with_their_posts_and_their_ids_are_not_used_again) {
    auto const ann = add("Ann", "ann@example.org");
    auto const bob = add("Bob", "bob@example.org");
    made_post(one(*store_, new_post(ann.id, "one")));
    made_post(one(*store_, new_post(bob.id, "two")));
    made_post(one(*store_, new_post(bob.id, "three", model::post_status::published)));
    EXPECT_EQ(one(*store_, {.what = delete_user{bob.id}}).problem, problem::none);
    EXPECT_EQ(one(*store_, {.what = delete_user{bob.id}}).problem, problem::not_found);
    seen_.renew();
    EXPECT_FALSE(seen_.user(bob.id));
    EXPECT_FALSE(seen_.user_with_email("bob@example.org"));
    EXPECT_TRUE(seen_.post(1));
    EXPECT_FALSE(seen_.post(2));
    EXPECT_FALSE(seen_.post(3));
    EXPECT_EQ(seen_.posts_of(bob.id), 0u);
    EXPECT_EQ(seen_.posts({}, {}, [](auto const&) {}).total, 1u);
    EXPECT_EQ(one(*store_, new_post(bob.id, "four")).problem, problem::validation_failed);
    EXPECT_EQ(add("Bob", "bob@example.org").id, 3);
    EXPECT_EQ(made_post(one(*store_, new_post(3, "four"))).id, 4);
}

TEST_F(users, are_listed_in_every_way) {
    for (int i = 1; i <= 25; ++i) add("u", "u" + std::to_string(i) + "@example.org");
    one(*store_, {.what = delete_user{7}});
    seen_.renew();
    std::vector<model::id> given;
    auto const list = [&](range const& part) {
        given.clear();
        return seen_.users(part, [&](model::user_view const& user) { given.push_back(user.id); });
    };
    auto answer = list({.limit = 3});
    EXPECT_EQ(given, (std::vector<model::id>{1, 2, 3}));
    EXPECT_EQ(answer.total, 24u);
    EXPECT_TRUE(answer.has_more);
    EXPECT_EQ(answer.last, 3);
    answer = list({.skip = 5, .limit = 2});
    EXPECT_EQ(given, (std::vector<model::id>{6, 8}));
    answer = list({.skip = 22, .limit = 2});
    EXPECT_EQ(given, (std::vector<model::id>{24, 25}));
    EXPECT_FALSE(answer.has_more);
    answer = list({.skip = 24, .limit = 2});
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(answer.total, 24u);
    EXPECT_FALSE(answer.has_more);
    EXPECT_EQ(answer.last, 0);
    answer = list({.after = 6, .limit = 2});
    EXPECT_EQ(given, (std::vector<model::id>{8, 9}));
    answer = list({.after = 8, .limit = 2, .descending = true});
    EXPECT_EQ(given, (std::vector<model::id>{6, 5}));
    answer = list({.limit = 2, .descending = true});
    EXPECT_EQ(given, (std::vector<model::id>{25, 24}));
    answer = list({.skip = 23, .limit = 2, .descending = true});
    EXPECT_EQ(given, (std::vector<model::id>{1}));
    EXPECT_FALSE(answer.has_more);
    answer = list({.after = 25, .limit = 2});
    EXPECT_TRUE(given.empty());
    answer = list({.after = 1, .limit = 2, .descending = true});
    EXPECT_TRUE(given.empty());
    answer = list({.after = 1000, .limit = 1, .descending = true});
    EXPECT_EQ(given, (std::vector<model::id>{25}));
    EXPECT_TRUE(answer.has_more);
}

TEST_F(users, of_an_empty_store_are_an_empty_list) {
    seen_.renew();
    auto const answer = seen_.users({}, [](auto const&) { FAIL(); });
    EXPECT_EQ(answer.total, 0u);
    EXPECT_FALSE(answer.has_more);
}

}  // namespace
}  // namespace latchkey::store
