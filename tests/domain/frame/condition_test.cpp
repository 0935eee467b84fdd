// If-Match and If-None-Match, as evaluated within the transaction.
#include <atomic>
#include <thread>

#include "../support.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

class store_conditions : public ::testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    model::user ada_ = get_user(one(*store_, new_user("Ada", "ada@example.com")));

    static conditions matching(model::entity_tag const& tag) {
        return {.match = tag_list{.any = false, .tags = {tag}},
                .none_match = std::nullopt,
                .required = false};
    }
    static command rename(model::id id, std::string name, conditions conditions) {
        command request{.action = change_user{.id = id, .name = std::move(name)}};
        request.conditions = std::move(conditions);
        return request;
    }
    model::user user(model::id id) {
        snapshot view(*store_);
        view.renew();
        return model::copy_of(*view.user(id));
    }
};

TEST_F(store_conditions, a_tag_is_that_of_the_record_before_the_command) {
    auto const original = model::tag_of(model::view_of(ada_));
    auto const update = get_user(one(*store_, rename(1, "B", matching(original))));
    EXPECT_EQ(one(*store_, rename(1, "C", matching(original))).problem,
              problem::precondition_failed);
    EXPECT_EQ(user(1).name, "B");
    auto const updated = model::tag_of(model::view_of(update));
    EXPECT_EQ(model::tag_of(model::view_of(user(1))), updated);
    EXPECT_EQ(one(*store_, rename(1, "C", matching(updated))).problem, problem::none);
}

// All of them in one transaction, at one time: the first wins, and each loser changes nothing.
TEST_F(store_conditions, let_one_of_a_group_with_the_same_tag_win) {
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

// A chain of changes within one transaction, which all have the same time.
TEST_F(store_conditions, tags_distinguish_changes_of_one_moment) {
    auto const first = model::tag_of(model::view_of(ada_));
    std::vector<command> commands;
    commands.push_back(rename(1, "B", {}));
    commands.push_back(rename(1, "C", {}));
    commands.push_back(rename(1, "D", matching(first)));
    auto const outcomes = apply(*store_, std::move(commands)).value();
    auto const b = get_user(outcomes[0]), c = get_user(outcomes[1]);
    EXPECT_EQ(b.updated_at, c.updated_at);
    EXPECT_NE(model::tag_of(model::view_of(b)), model::tag_of(model::view_of(c)));
    EXPECT_EQ(outcomes[2].problem, problem::precondition_failed);
}

// Eight threads increment a number by compare-and-swap with If-Match: no increment is lost.
TEST_F(store_conditions, prevent_lost_updates) {
    auto const counter = get_user(one(*store_, new_user("0", "counter@example.com"))).id;
    writer store_writer(*store_);
    std::atomic<int> refusals = 0;
    auto const add_25 = [&] {
        snapshot view(*store_);
        for (int count = 0; count < 25;) {
            view.renew();
            auto const original = model::copy_of(*view.user(counter));
            view.reset();
            auto const next = std::to_string(std::stoi(original.name) + 1);
            auto const answer =
                ask(store_writer,
                    rename(counter, next, matching(model::tag_of(model::view_of(original)))));
            answer.problem == problem::none ? ++count : ++refusals;
            if (answer.problem != problem::none)
                EXPECT_EQ(answer.problem, problem::precondition_failed);
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(add_25);
    for (auto& each : threads) each.join();
    EXPECT_EQ(user(counter).name, "200");
    EXPECT_GT(refusals, 0) << "no two writes ever met: this shows nothing";
}

TEST_F(store_conditions, hold_for_every_kind_of_command) {
    get_post(one(*store_, new_post(1, "A title")));
    one(*store_, new_key(key_number(1, {"*"})));
    model::entity_tag const other{};
    auto const refuses = [&](auto action, conditions conditions) {
        command request{.action = std::move(action)};
        request.conditions = std::move(conditions);
        return one(*store_, std::move(request)).problem;
    };
    conditions const required{.match = std::nullopt, .none_match = std::nullopt, .required = true};
    conditions const absent{
        .match = std::nullopt, .none_match = tag_list{.any = true, .tags = {}}, .required = false};
    auto const try_all = [&](conditions const& conditions, problem expected) {
        EXPECT_EQ(refuses(change_user{.id = 1}, conditions), expected);
        EXPECT_EQ(refuses(delete_user{.id = 1}, conditions), expected);
        EXPECT_EQ(refuses(change_post{.id = 1}, conditions), expected);
        EXPECT_EQ(refuses(delete_post{.id = 1}, conditions), expected);
        EXPECT_EQ(refuses(change_key{.id = 1}, conditions), expected);
        EXPECT_EQ(refuses(rotate_key{.id = 1}, conditions), expected);
        EXPECT_EQ(refuses(deactivate_key{.id = 1}, conditions), expected);
        EXPECT_EQ(refuses(reactivate_key{.id = 1}, conditions), expected);
        EXPECT_EQ(refuses(create_user{"B", "b@example.com"}, conditions), expected);
        EXPECT_EQ(refuses(create_post{.user_id = 1, .title = "T", .body = {}}, conditions),
                  expected);
        EXPECT_EQ(refuses(create_key{key_number(2)}, conditions), expected);
    };
    try_all(matching(other), problem::precondition_failed);
    try_all(required, problem::precondition_required);
    try_all(absent, problem::precondition_failed);
    EXPECT_EQ(refuses(change_user{.id = 9}, required), problem::not_found);
    snapshot view(*store_);
    view.renew();
    EXPECT_EQ(view.key(1)->deactivated_at, 0);
    EXPECT_EQ(view.users({}, [](auto const&) {}).total, 1u);
    EXPECT_EQ(view.keys({}, {}, [](auto const&, auto) {}).total, 1u);
    expect_sound(*store_);
}

TEST_F(store_conditions, of_keys_ignore_their_last_use) {
    auto const key = get_key(one(*store_, new_key(key_number(1, {"*"}))));
    key_use const use{.key = key.id, .last_used = key.created_at + 5, .minute = 0, .counted = {}};
    EXPECT_EQ(one(*store_, {.action = note_key_uses{{use}}}).problem, problem::none);
    command request{.action = change_key{.id = key.id, .name = "other"}};
    request.conditions = matching(model::tag_of(key, key.created_at));
    EXPECT_EQ(one(*store_, std::move(request)).problem, problem::none);
}

}  // namespace
}  // namespace latchkey::domain
