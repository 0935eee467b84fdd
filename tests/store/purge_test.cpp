#include <atomic>
#include <thread>

#include "store/commands.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;
using enum model::post_status;

constexpr int many = 3000;

class purges : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());

    // Bob (1) with one post, Ann (2) with many, Bob's other post behind them.
    void fill() {
        made_user(one(*store_, new_user("Bob", "bob@example.org")));
        made_user(one(*store_, new_user("Ann", "ann@example.org")));
        made_post(one(*store_, new_post(1, "first", published)));
        for (int i = 0; i < many;) {
            std::vector<command> group;
            for (; group.size() < 64 && i < many; ++i)
                group.push_back(new_post(2, "t", static_cast<model::post_status>(i % 3)));
            ASSERT_TRUE(apply(*store_, std::move(group)));
        }
        made_post(one(*store_, new_post(1, "last", published)));
    }
    // In a transaction of its own that removes nothing besides, as `apply` would.
    outcome alone(command const& what) {
        outcome answer;
        job const only{&what, &answer};
        EXPECT_EQ(apply_group(store_->native(), {&only, 1}, 0).done, 1u);
        return answer;
    }
    void doom(model::id user) {
        ASSERT_EQ(alone({.what = delete_user{user}}).problem, problem::none);
    }
    std::uint64_t left() {
        auto const result = apply_group(store_->native(), {}, 0);
        return result.more_to_purge;
    }
};

void expect_only_bobs(snapshot const& seen) {
    EXPECT_FALSE(seen.user(2));
    EXPECT_FALSE(seen.post(2));
    EXPECT_FALSE(seen.post(many / 2));
    EXPECT_TRUE(seen.post(1));
    EXPECT_TRUE(seen.post(many + 2));
    EXPECT_EQ(seen.posts_of(2), 0u);
    for (post_filter const& filter :
         {post_filter{}, post_filter{.status = published}, post_filter{.user_id = 1},
          post_filter{.user_id = 1, .status = published}})
        for (bool const descending : {false, true}) {
            std::vector<model::id> given;
            auto const keep = [&](model::post_view const& post) { given.push_back(post.id); };
            auto answer = seen.posts(filter, {.descending = descending}, keep);
            EXPECT_EQ(answer.total, 2u);
            EXPECT_FALSE(answer.has_more);
            EXPECT_EQ(given, (descending ? std::vector<model::id>{many + 2, 1}
                                         : std::vector<model::id>{1, many + 2}));
            given.clear();
            answer = seen.posts(filter, {.limit = 1, .descending = descending}, keep);
            EXPECT_TRUE(answer.has_more);
            answer = seen.posts(filter,
                                {.after = given.at(0), .limit = 1, .descending = descending}, keep);
            EXPECT_FALSE(answer.has_more);
            EXPECT_EQ(given.size(), 2u);
            given.clear();
            answer = seen.posts(filter, {.skip = 1, .limit = 1, .descending = descending}, keep);
            EXPECT_EQ(given, (std::vector<model::id>{descending ? 1 : many + 2}));
        }
    for (auto const& filter : {post_filter{.user_id = 2}, post_filter{.status = draft},
                               post_filter{.user_id = 2, .status = published}})
        EXPECT_EQ(seen.posts(filter, {}, [](auto const&) { FAIL(); }).total, 0u);
}

TEST_F(purges, hide_all_posts_at_once_and_remove_them_in_batches) {
    fill();
    snapshot early(*store_), seen(*store_);
    early.renew();
    doom(2);
    int batches = 0;
    for (bool more = true; more; ++batches) {
        seen.renew();
        expect_only_bobs(seen);
        seen.reset();
        expect_whole(*store_);
        EXPECT_EQ(alone(new_post(2, "x")).problem, problem::validation_failed);
        more = apply_group(store_->native(), {}, 700).more_to_purge;
    }
    EXPECT_EQ(batches, 5);  // of 700 posts, the last of 200
    seen.renew();
    expect_only_bobs(seen);
    // Who looked before still sees everything.
    EXPECT_TRUE(early.post(2));
    EXPECT_EQ(early.posts_of(2), std::uint64_t{many});
    early.reset();
    expect_whole(*store_);
}

TEST_F(purges, refuse_commands_on_posts_that_are_to_be_removed) {
    fill();
    doom(2);
    EXPECT_EQ(alone({.what = change_post{.id = 2, .title = "x"}}).problem, problem::not_found);
    EXPECT_EQ(alone({.what = delete_post{3}}).problem, problem::not_found);
    EXPECT_EQ(alone({.what = change_post{.id = 1, .title = "x"}}).problem, problem::none);
    EXPECT_TRUE(left());
    expect_whole(*store_);
}

TEST_F(purges, are_resumed_by_the_next_writer) {
    fill();
    doom(2);
    store_.reset();
    store_ = open_store(directory_.path());
    EXPECT_TRUE(left());
    {
        writer const through(*store_);
        for (int i = 0; i < 1000 && left(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_FALSE(left());
    expect_whole(*store_);
}

TEST_F(purges, go_on_between_other_commands_with_readers_watching) {
    fill();
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0};
    writer through(*store_);
    std::thread reader([&] {
        snapshot seen(*store_);
        while (!done) {
            seen.renew();
            bool const there = seen.user(2).has_value();
            std::uint64_t given = 0;
            auto const answer = seen.posts({.status = published}, {.limit = 5000},
                                           [&](model::post_view const&) { ++given; });
            if (given != answer.total || answer.has_more) ++wrong;
            if (answer.total != (there ? 2 + many / 3 : 2)) ++wrong;
            if (seen.post(3).has_value() != there) ++wrong;
        }
    });
    EXPECT_EQ(ask(through, {.what = delete_user{2}}).problem, problem::none);
    int commands = 0;
    for (; left(); ++commands)
        EXPECT_EQ(ask(through, new_user("u", std::to_string(commands) + "@example.org")).problem,
                  problem::none);
    done = true;
    reader.join();
    EXPECT_EQ(wrong, 0);
    expect_whole(*store_);
}

TEST_F(purges, of_several_users_all_end) {
    for (int user = 1; user <= 3; ++user) {
        made_user(one(*store_, new_user("u", std::to_string(user) + "@example.org")));
        for (int i = 0; i < 1100;) {
            std::vector<command> group;
            for (; group.size() < 64 && i < 1100; ++i) group.push_back(new_post(user, "t"));
            ASSERT_TRUE(apply(*store_, std::move(group)));
        }
    }
    for (model::id user = 1; user <= 3; ++user) doom(user);
    expect_whole(*store_);
    snapshot seen(*store_);
    seen.renew();
    EXPECT_EQ(seen.posts({}, {}, [](auto const&) { FAIL(); }).total, 0u);
    seen.reset();
    while (apply_group(store_->native(), {}, purge_posts_max).more_to_purge) expect_whole(*store_);
    expect_whole(*store_);
}

TEST_F(purges, count_a_cascade_towards_the_size_of_its_group) {
    std::vector<command> commands;
    for (int user = 1; user <= 4; ++user) {
        made_user(one(*store_, new_user("u", std::to_string(user) + "@example.org")));
        for (int i = 0; i < 1000;) {
            std::vector<command> group;
            for (; group.size() < 64 && i < 1000; ++i) group.push_back(new_post(user, "t"));
            ASSERT_TRUE(apply(*store_, std::move(group)));
        }
        commands.push_back({.what = delete_user{user}});
    }
    std::vector<outcome> outcomes(commands.size());
    std::vector<job> jobs;
    for (std::size_t i = 0; i < commands.size(); ++i) jobs.push_back({&commands[i], &outcomes[i]});
    auto const result = apply_group(store_->native(), jobs, 0);
    EXPECT_EQ(result.done, 2u);
    EXPECT_EQ(result.failure, 0);
    EXPECT_TRUE(result.committed);
    expect_whole(*store_);
}

}  // namespace
}  // namespace latchkey::store
