// If-Match and If-None-Match where they are decided: inside the transaction.
#include <atomic>
#include <thread>

#include "store/commands.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

class store_conditions : public ::testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    model::user ada_ = made_user(one(*store_, new_user("Ada", "ada@example.com")));

    static conditions matching(model::entity_tag const& tag) {
        return {.match = tag_list{.any = false, .tags = {tag}},
                .none_match = std::nullopt,
                .required = false};
    }
    static command rename(model::id id, std::string name, conditions wanted) {
        command made{.what = change_user{.id = id, .name = std::move(name)}};
        made.conditions = std::move(wanted);
        return made;
    }
    model::user user(model::id id) {
        snapshot seen(*store_);
        seen.renew();
        return model::copy_of(*seen.user(id));
    }
};

TEST_F(store_conditions, a_tag_is_that_of_the_record_before_the_command) {
    auto const before = model::tag_of(model::view_of(ada_));
    auto const changed = made_user(one(*store_, rename(1, "B", matching(before))));
    EXPECT_EQ(one(*store_, rename(1, "C", matching(before))).problem, problem::precondition_failed);
    EXPECT_EQ(user(1).name, "B");
    auto const after = model::tag_of(model::view_of(changed));
    EXPECT_EQ(model::tag_of(model::view_of(user(1))), after);
    EXPECT_EQ(one(*store_, rename(1, "C", matching(after))).problem, problem::none);
}

// All of them in one transaction, at one time: the first wins, and each loser changes nothing.
TEST_F(store_conditions, of_a_group_with_one_tag_one_wins) {
    auto const tag = model::tag_of(model::view_of(ada_));
    std::vector<command> commands;
    for (int i = 0; i < 40; ++i)
        commands.push_back(rename(1, "writer " + std::to_string(i), matching(tag)));
    auto const outcomes = apply(*store_, std::move(commands)).value();
    EXPECT_EQ(outcomes[0].problem, problem::none);
    for (std::size_t i = 1; i < outcomes.size(); ++i)
        EXPECT_EQ(outcomes[i].problem, problem::precondition_failed) << i;
    EXPECT_EQ(user(1).name, "writer 0");
}

// A chain within one transaction, where all changes have one time.
TEST_F(store_conditions, tags_tell_changes_of_one_moment_apart) {
    auto const first = model::tag_of(model::view_of(ada_));
    std::vector<command> commands;
    commands.push_back(rename(1, "B", {}));
    commands.push_back(rename(1, "C", {}));
    commands.push_back(rename(1, "D", matching(first)));
    auto const outcomes = apply(*store_, std::move(commands)).value();
    auto const b = made_user(outcomes[0]), c = made_user(outcomes[1]);
    EXPECT_EQ(b.updated_at, c.updated_at);
    EXPECT_NE(model::tag_of(model::view_of(b)), model::tag_of(model::view_of(c)));
    EXPECT_EQ(outcomes[2].problem, problem::precondition_failed);
}

// Eight threads read, and write what they have read plus one, on the condition that it still is;
// then no increment is lost.
TEST_F(store_conditions, keep_writers_from_losing_each_others_changes) {
    auto const counter = made_user(one(*store_, new_user("0", "counter@example.com"))).id;
    writer through(*store_);
    std::atomic<int> refused = 0;
    auto const add_25 = [&] {
        snapshot seen(*store_);
        for (int done = 0; done < 25;) {
            seen.renew();
            auto const before = model::copy_of(*seen.user(counter));
            seen.reset();
            auto const next = std::to_string(std::stoi(before.name) + 1);
            auto const answer = ask(
                through, rename(counter, next, matching(model::tag_of(model::view_of(before)))));
            answer.problem == problem::none ? ++done : ++refused;
            if (answer.problem != problem::none)
                EXPECT_EQ(answer.problem, problem::precondition_failed);
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(add_25);
    for (auto& each : threads) each.join();
    EXPECT_EQ(user(counter).name, "200");
    EXPECT_GT(refused, 0) << "nobody ever met another: this shows nothing";
}

TEST_F(store_conditions, hold_for_every_kind_of_command) {
    made_post(one(*store_, new_post(1, "A title")));
    one(*store_, new_key(key_number(1, {"*"})));
    model::entity_tag const other{};
    auto const refuses = [&](auto what, conditions wanted) {
        command made{.what = std::move(what)};
        made.conditions = std::move(wanted);
        return one(*store_, std::move(made)).problem;
    };
    conditions const required{.match = std::nullopt, .none_match = std::nullopt, .required = true};
    conditions const absent{
        .match = std::nullopt, .none_match = tag_list{.any = true, .tags = {}}, .required = false};
    auto const try_all = [&](conditions const& wanted, problem expected) {
        EXPECT_EQ(refuses(change_user{.id = 1}, wanted), expected);
        EXPECT_EQ(refuses(delete_user{.id = 1}, wanted), expected);
        EXPECT_EQ(refuses(change_post{.id = 1}, wanted), expected);
        EXPECT_EQ(refuses(delete_post{.id = 1}, wanted), expected);
        EXPECT_EQ(refuses(change_key{.id = 1}, wanted), expected);
        EXPECT_EQ(refuses(rotate_key{.id = 1}, wanted), expected);
        EXPECT_EQ(refuses(deactivate_key{.id = 1}, wanted), expected);
        EXPECT_EQ(refuses(reactivate_key{.id = 1}, wanted), expected);
        EXPECT_EQ(refuses(create_user{"B", "b@example.com"}, wanted), expected);
        EXPECT_EQ(refuses(create_post{.user_id = 1, .title = "T", .body = {}}, wanted), expected);
        EXPECT_EQ(refuses(create_key{key_number(2)}, wanted), expected);
    };
    try_all(matching(other), problem::precondition_failed);
    try_all(required, problem::precondition_required);
    try_all(absent, problem::precondition_failed);
    EXPECT_EQ(refuses(change_user{.id = 9}, required), problem::not_found);
    snapshot seen(*store_);
    seen.renew();
    EXPECT_EQ(seen.key(1)->deactivated_at, 0);
    EXPECT_EQ(seen.users({}, [](auto const&) {}).total, 1u);
    EXPECT_EQ(seen.keys({}, {}, [](auto const&, auto) {}).total, 1u);
    expect_whole(*store_);
}

TEST_F(store_conditions, of_keys_do_not_see_their_last_use) {
    auto const key = made_key(one(*store_, new_key(key_number(1, {"*"}))));
    key_use const use{.key = key.id, .last_used = key.created_at + 5, .minute = 0, .counted = {}};
    EXPECT_EQ(one(*store_, {.what = note_key_uses{{use}}}).problem, problem::none);
    command made{.what = change_key{.id = key.id, .name = "other"}};
    made.conditions = matching(model::tag_of(key, key.created_at));
    EXPECT_EQ(one(*store_, std::move(made)).problem, problem::none);
}

}  // namespace
}  // namespace latchkey::store
