#include "../support.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

class users : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    snapshot snapshot_{*store_};

    model::user add(std::string name, std::string email) {
        return get_user(one(*store_, new_user(std::move(name), std::move(email))));
    }
    std::uint64_t version() {
        snapshot_.renew();
        return snapshot_.version();
    }
    void TearDown() override {
        snapshot_.reset();
        expect_sound(*store_);
    }
};

base::fault some_fault() {
    return {.location = "/name", .code = base::field_code::too_long};
}

std::vector<std::string> pointers(outcome const& answer) {
    EXPECT_EQ(answer.problem, problem::validation_failed);
    std::vector<std::string> all;
    for (auto const& each : answer.faults) all.push_back(each.location);
    return all;
}

TEST_F(users, are_created_with_ascending_ids_and_found) {
    auto const initial = base::read_clocks().wall;
    auto const ann = add("Ann", "Ann@Example.org");
    auto const bob = add("Bob", "bob@example.org");
    EXPECT_EQ(ann.id, 1);
    EXPECT_EQ(bob.id, 2);
    EXPECT_GE(ann.created_at, initial);
    EXPECT_EQ(ann.created_at, ann.updated_at);
    EXPECT_GE(bob.created_at, ann.created_at);
    snapshot_.renew();
    EXPECT_EQ(snapshot_.user(1)->name, "Ann");
    EXPECT_EQ(snapshot_.user(1)->email, "Ann@Example.org");
    EXPECT_EQ(snapshot_.user_with_email("aNN@exAMPLE.org"), 1);
    EXPECT_EQ(snapshot_.user_with_email("nobody@example.org"), std::nullopt);
    EXPECT_EQ(snapshot_.user_with_email(std::string(5000, 'a')), std::nullopt);
    EXPECT_FALSE(snapshot_.user(3));
    EXPECT_FALSE(snapshot_.user(0));
    EXPECT_FALSE(snapshot_.user(-1));
    EXPECT_FALSE(snapshot_.damaged());
}

// The cache of record positions is valid for one version only, by table and id.
TEST_F(users, are_cached_for_one_version_only) {
    for (int i = 1; i <= 600; ++i)
        add("user " + std::to_string(i), std::to_string(i) + "@example.org");
    get_post(one(*store_, new_post(7, "post 1")));
    snapshot_.renew();
    for (int round = 0; round < 3; ++round)
        for (model::id id = 1; id <= 600; ++id)
            ASSERT_EQ(snapshot_.user(id)->name, "user " + std::to_string(id));
    EXPECT_EQ(snapshot_.post(1)->title, "post 1");
    EXPECT_FALSE(snapshot_.post(2));
    EXPECT_FALSE(snapshot_.user(0));
    change_user renamed;
    renamed.id = 1;
    renamed.name = "renamed";
    EXPECT_EQ(one(*store_, {.action = renamed}).problem, problem::none);
    EXPECT_EQ(one(*store_, {.action = delete_user{2}}).problem, problem::none);
    EXPECT_EQ(snapshot_.user(1)->name, "user 1");
    EXPECT_EQ(snapshot_.user(2)->name, "user 2");
    snapshot_.renew();
    EXPECT_EQ(snapshot_.user(1)->name, "renamed");
    EXPECT_FALSE(snapshot_.user(2));
    EXPECT_EQ(snapshot_.user(258)->name, "user 258");
}

TEST_F(users, have_addresses_that_differ_by_more_than_case) {
    add("Ann", "Ann@Example.org");
    auto const initial = version();
    EXPECT_EQ(one(*store_, new_user("Bob", "ann@example.ORG")).problem, problem::email_taken);
    EXPECT_EQ(version(), initial);
}

TEST_F(users, with_faults_are_not_created) {
    auto request = new_user("Ann", "ann@example.org");
    request.faults.push_back(some_fault());
    auto const initial = version();
    EXPECT_EQ(pointers(one(*store_, request)), std::vector<std::string>{"/name"});
    EXPECT_EQ(version(), initial);
    add("Bob", "ann@example.org");
    // 422 comes before 409.
    EXPECT_EQ(one(*store_, request).problem, problem::validation_failed);
}

TEST_F(users, change_only_the_members_sent) {
    auto const ann = add("Ann", "ann@example.org");
    auto const renamed =
        get_user(one(*store_, {.action = change_user{.id = ann.id, .name = "Anna"}}));
    EXPECT_EQ(renamed.name, "Anna");
    EXPECT_EQ(renamed.email, ann.email);
    EXPECT_EQ(renamed.created_at, ann.created_at);
    EXPECT_GE(renamed.updated_at, ann.updated_at);
    auto const changed_user =
        get_user(one(*store_, {.action = change_user{.id = ann.id, .email = "anna@example.org"}}));
    EXPECT_EQ(changed_user.email, "anna@example.org");
    snapshot_.renew();
    EXPECT_EQ(snapshot_.user(ann.id)->name, "Anna");
    EXPECT_EQ(snapshot_.user_with_email("anna@example.org"), ann.id);
    EXPECT_EQ(snapshot_.user_with_email("ann@example.org"), std::nullopt);
    // The old address is free again.
    EXPECT_EQ(add("Ann", "ann@example.org").id, 2);
}

TEST_F(users, may_change_the_case_of_their_own_address) {
    auto const ann = add("Ann", "ann@example.org");
    auto const update =
        get_user(one(*store_, {.action = change_user{.id = ann.id, .email = "Ann@Example.ORG"}}));
    EXPECT_EQ(update.email, "Ann@Example.ORG");
    snapshot_.renew();
    EXPECT_EQ(snapshot_.user_with_email("ann@example.org"), ann.id);
}

TEST_F(users, cannot_take_the_address_of_another) {
    auto const ann = add("Ann", "ann@example.org");
    add("Bob", "bob@example.org");
    auto const initial = version();
    EXPECT_EQ(
        one(*store_, {.action = change_user{.id = ann.id, .name = "x", .email = "BOB@example.org"}})
            .problem,
        problem::email_taken);
    EXPECT_EQ(version(), initial);
    EXPECT_EQ(snapshot_.user(ann.id)->name, "Ann");
}

TEST_F(users, that_do_not_differ_are_not_written) {
    auto const ann = add("Ann", "ann@example.org");
    auto const initial = version();
    for (auto const& request :
         {change_user{.id = ann.id}, change_user{.id = ann.id, .name = "Ann"},
          change_user{.id = ann.id, .name = "Ann", .email = "ann@example.org"}}) {
        auto const same = get_user(one(*store_, {.action = request}));
        EXPECT_EQ(same.updated_at, ann.updated_at);
        EXPECT_EQ(same.name, "Ann");
    }
    EXPECT_EQ(version(), initial);
}

TEST_F(users, accept_read_only_members_that_are_unchanged) {
    auto const ann = add("Ann", "ann@example.org");
    expected_members members{
        .id = ann.id, .created_at = ann.created_at, .updated_at = ann.updated_at};
    EXPECT_EQ(one(*store_, {.action = change_user{.id = ann.id, .name = "A", .expected = members}})
                  .problem,
              problem::none);
    // updated_at may have changed with the clock; created_at has not.
    members = {.id = ann.id + 1,
               .created_at = std::optional<base::wall_ms>(ann.created_at + 1),
               .updated_at = std::optional<base::wall_ms>()};
    command request{.action = change_user{.id = ann.id, .name = "B", .expected = members}};
    request.faults.push_back(some_fault());
    EXPECT_EQ(pointers(one(*store_, request)),
              (std::vector<std::string>{"/name", "/id", "/created_at", "/updated_at"}));
    snapshot_.renew();
    EXPECT_EQ(snapshot_.user(ann.id)->name, "A");
}

TEST_F(users, that_do_not_exist_are_404_but_422_if_the_body_has_faults) {
    command request{.action = change_user{.id = 9, .name = "x", .expected = {.id = 8}}};
    EXPECT_EQ(one(*store_, request).problem, problem::not_found);
    request.faults.push_back(some_fault());
    EXPECT_EQ(pointers(one(*store_, request)), std::vector<std::string>{"/name"});
    EXPECT_EQ(one(*store_, {.action = delete_user{9}}).problem, problem::not_found);
}

TEST_F(users, are_deleted_with_their_posts_and_their_ids_are_not_reused) {
    auto const ann = add("Ann", "ann@example.org");
    auto const bob = add("Bob", "bob@example.org");
    get_post(one(*store_, new_post(ann.id, "one")));
    get_post(one(*store_, new_post(bob.id, "two")));
    get_post(one(*store_, new_post(bob.id, "three", model::post_status::published)));
    EXPECT_EQ(one(*store_, {.action = delete_user{bob.id}}).problem, problem::none);
    EXPECT_EQ(one(*store_, {.action = delete_user{bob.id}}).problem, problem::not_found);
    snapshot_.renew();
    EXPECT_FALSE(snapshot_.user(bob.id));
    EXPECT_FALSE(snapshot_.user_with_email("bob@example.org"));
    EXPECT_TRUE(snapshot_.post(1));
    EXPECT_FALSE(snapshot_.post(2));
    EXPECT_FALSE(snapshot_.post(3));
    EXPECT_EQ(snapshot_.posts_of(bob.id), 0u);
    EXPECT_EQ(snapshot_.posts({}, {}, [](auto const&) {}).total, 1u);
    EXPECT_EQ(one(*store_, new_post(bob.id, "four")).problem, problem::validation_failed);
    EXPECT_EQ(add("Bob", "bob@example.org").id, 3);
    EXPECT_EQ(get_post(one(*store_, new_post(3, "four"))).id, 4);
}

TEST_F(users, are_listed_in_every_way) {
    for (int i = 1; i <= 25; ++i) add("u", "u" + std::to_string(i) + "@example.org");
    one(*store_, {.action = delete_user{7}});
    snapshot_.renew();
    std::vector<model::id> ids;
    auto const list = [&](range const& part) {
        ids.clear();
        return snapshot_.users(part, [&](model::user_view const& user) { ids.push_back(user.id); });
    };
    auto answer = list({.limit = 3});
    EXPECT_EQ(ids, (std::vector<model::id>{1, 2, 3}));
    EXPECT_EQ(answer.total, 24u);
    EXPECT_TRUE(answer.has_more);
    EXPECT_EQ(answer.last, 3);
    answer = list({.skip = 5, .limit = 2});
    EXPECT_EQ(ids, (std::vector<model::id>{6, 8}));
    answer = list({.skip = 22, .limit = 2});
    EXPECT_EQ(ids, (std::vector<model::id>{24, 25}));
    EXPECT_FALSE(answer.has_more);
    answer = list({.skip = 24, .limit = 2});
    EXPECT_TRUE(ids.empty());
    EXPECT_EQ(answer.total, 24u);
    EXPECT_FALSE(answer.has_more);
    EXPECT_EQ(answer.last, 0);
    answer = list({.after_id = 6, .limit = 2});
    EXPECT_EQ(ids, (std::vector<model::id>{8, 9}));
    answer = list({.after_id = 8, .limit = 2, .descending = true});
    EXPECT_EQ(ids, (std::vector<model::id>{6, 5}));
    answer = list({.limit = 2, .descending = true});
    EXPECT_EQ(ids, (std::vector<model::id>{25, 24}));
    answer = list({.skip = 23, .limit = 2, .descending = true});
    EXPECT_EQ(ids, (std::vector<model::id>{1}));
    EXPECT_FALSE(answer.has_more);
    answer = list({.after_id = 25, .limit = 2});
    EXPECT_TRUE(ids.empty());
    answer = list({.after_id = 1, .limit = 2, .descending = true});
    EXPECT_TRUE(ids.empty());
    answer = list({.after_id = 1000, .limit = 1, .descending = true});
    EXPECT_EQ(ids, (std::vector<model::id>{25}));
    EXPECT_TRUE(answer.has_more);
}

TEST_F(users, of_an_empty_store_are_an_empty_list) {
    snapshot_.renew();
    auto const answer = snapshot_.users({}, [](auto const&) { FAIL(); });
    EXPECT_EQ(answer.total, 0u);
    EXPECT_FALSE(answer.has_more);
}

}  // namespace
}  // namespace latchkey::domain
