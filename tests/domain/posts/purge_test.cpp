#include <atomic>
#include <thread>

#include "../support.hpp"
#include "base/limits.hpp"
#include "domain/writer/group.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using enum model::post_status;

constexpr int many = 3000;

class purges : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());

    // Bob (1) with one post, Ann (2) with many, then another post of Bob's.
    void fill() {
        get_user(one(*store_, new_user("Bob", "bob@example.org")));
        get_user(one(*store_, new_user("Ann", "ann@example.org")));
        get_post(one(*store_, new_post(1, "first", published)));
        for (int i = 0; i < many;) {
            std::vector<command> group;
            for (; group.size() < 64 && i < many; ++i)
                group.push_back(new_post(2, "t", static_cast<model::post_status>(i % 3)));
            ASSERT_TRUE(apply(*store_, std::move(group)));
        }
        get_post(one(*store_, new_post(1, "last", published)));
    }
    // In a transaction of its own that removes nothing else, unlike `apply`.
    outcome apply_alone(command const& request) {
        outcome answer;
        job const only{&request, &answer};
        EXPECT_EQ(apply_group(store_->native(), {&only, 1}, 0).job_count, 1u);
        return answer;
    }
    void doom(model::id user) {
        ASSERT_EQ(apply_alone({.action = delete_user{user}}).problem, problem::none);
    }
    std::uint64_t left() {
        auto const result = apply_group(store_->native(), {}, 0);
        return result.more_to_purge;
    }
};

void expect_only_bobs(snapshot const& view) {
    EXPECT_FALSE(view.user(2));
    EXPECT_FALSE(view.post(2));
    EXPECT_FALSE(view.post(many / 2));
    EXPECT_TRUE(view.post(1));
    EXPECT_TRUE(view.post(many + 2));
    EXPECT_EQ(view.posts_of(2), 0u);
    for (post_filter const& filter :
         {post_filter{}, post_filter{.status = published}, post_filter{.user_id = 1},
          post_filter{.user_id = 1, .status = published}})
        for (bool const descending : {false, true}) {
            std::vector<model::id> ids;
            auto const keep = [&](model::post_view const& post) { ids.push_back(post.id); };
            auto answer = view.posts(filter, {.descending = descending}, keep);
            EXPECT_EQ(answer.total, 2u);
            EXPECT_FALSE(answer.has_more);
            EXPECT_EQ(ids, (descending ? std::vector<model::id>{many + 2, 1}
                                       : std::vector<model::id>{1, many + 2}));
            ids.clear();
            answer = view.posts(filter, {.limit = 1, .descending = descending}, keep);
            EXPECT_TRUE(answer.has_more);
            answer = view.posts(
                filter, {.after_id = ids.at(0), .limit = 1, .descending = descending}, keep);
            EXPECT_FALSE(answer.has_more);
            EXPECT_EQ(ids.size(), 2u);
            ids.clear();
            answer = view.posts(filter, {.skip = 1, .limit = 1, .descending = descending}, keep);
            EXPECT_EQ(ids, (std::vector<model::id>{descending ? 1 : many + 2}));
        }
    for (auto const& filter : {post_filter{.user_id = 2}, post_filter{.status = draft},
                               post_filter{.user_id = 2, .status = published}})
        EXPECT_EQ(view.posts(filter, {}, [](auto const&) { FAIL(); }).total, 0u);
}

TEST_F(purges, hide_all_posts_at_once_and_remove_them_in_batches) {
    fill();
    snapshot early(*store_), view(*store_);
    early.renew();
    doom(2);
    int batches = 0;
    for (bool more = true; more; ++batches) {
        view.renew();
        expect_only_bobs(view);
        // The deleted users are read anew in each version, and are as many as are counted.
        EXPECT_FALSE(view.damaged());
        view.reset();
        expect_sound(*store_);
        EXPECT_EQ(apply_alone(new_post(2, "x")).problem, problem::validation_failed);
        more = apply_group(store_->native(), {}, 700).more_to_purge;
    }
    EXPECT_EQ(batches, 5);  // of 700 posts, the last of 200
    view.renew();
    expect_only_bobs(view);
    // An older snapshot still shows everything.
    EXPECT_TRUE(early.post(2));
    EXPECT_EQ(early.posts_of(2), std::uint64_t{many});
    early.reset();
    expect_sound(*store_);
}

TEST_F(purges, refuse_commands_on_posts_being_removed) {
    fill();
    doom(2);
    EXPECT_EQ(apply_alone({.action = change_post{.id = 2, .title = "x"}}).problem,
              problem::not_found);
    EXPECT_EQ(apply_alone({.action = delete_post{3}}).problem, problem::not_found);
    EXPECT_EQ(apply_alone({.action = change_post{.id = 1, .title = "x"}}).problem, problem::none);
    EXPECT_TRUE(left());
    expect_sound(*store_);
}

TEST_F(purges, are_resumed_by_the_next_writer) {
    fill();
    doom(2);
    store_.reset();
    store_ = open_store(directory_.path());
    EXPECT_TRUE(left());
    {
        writer const store_writer(*store_);
        for (int i = 0; i < 1000 && left(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_FALSE(left());
    expect_sound(*store_);
}

TEST_F(purges, proceed_between_commands_and_readers) {
    fill();
    std::atomic<bool> is_done{false};
    std::atomic<int> wrong{0};
    writer store_writer(*store_);
    std::thread reader([&] {
        snapshot view(*store_);
        while (!is_done) {
            view.renew();
            bool const there = view.user(2).has_value();
            std::uint64_t ids = 0;
            auto const answer = view.posts({.status = published}, {.limit = 5000},
                                           [&](model::post_view const&) { ++ids; });
            if (ids != answer.total || answer.has_more) ++wrong;
            if (answer.total != (there ? 2 + many / 3 : 2)) ++wrong;
            if (view.post(3).has_value() != there) ++wrong;
        }
    });
    EXPECT_EQ(ask(store_writer, {.action = delete_user{2}}).problem, problem::none);
    int commands = 0;
    for (; left(); ++commands)
        EXPECT_EQ(
            ask(store_writer, new_user("u", std::to_string(commands) + "@example.org")).problem,
            problem::none);
    is_done = true;
    reader.join();
    EXPECT_EQ(wrong, 0);
    expect_sound(*store_);
}

// Full groups leave a quarter of their weight for removal.
TEST_F(purges, are_not_starved_by_full_groups) {
    fill();
    doom(2);
    command const missing{.action = delete_user{1'000'000}};
    std::vector<outcome> answers(base::limits::commands_per_commit_max);
    std::vector<job> jobs;
    for (auto& answer : answers) jobs.push_back({&missing, &answer});
    constexpr std::size_t batch = 100;
    int groups = 0;
    for (bool more = true; more && groups < 2 * many; ++groups) {
        auto const result = apply_group(store_->native(), jobs, batch);
        ASSERT_EQ(result.job_count, jobs.size());
        more = result.more_to_purge;
    }
    EXPECT_EQ(groups, many / int{batch} + 1);
    EXPECT_FALSE(left());
    expect_sound(*store_);
}

// An unreadable record has an unknown status: its entries are erased from the lists of all.
TEST_F(purges, remove_unreadable_posts) {
    get_user(one(*store_, new_user("Ann", "ann@example.org")));
    for (auto const status : {draft, published, archived})
        get_post(one(*store_, new_post(1, "t", status)));
    auto& native = store_->native();
    MDB_txn* txn = nullptr;
    ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
    for (model::id id = 1; id <= 3; ++id) {
        auto const place = id_key(id);
        auto key = val_of(place);
        auto value = val_of("rubbish");
        ASSERT_EQ(::mdb_put(txn, native.dbi(table::posts), &key, &value, 0), 0);
    }
    ASSERT_EQ(::mdb_txn_commit(txn), 0);
    EXPECT_FALSE(check_consistency(*store_).empty());
    EXPECT_EQ(apply_alone({.action = delete_user{1}}).problem, problem::none);
    expect_sound(*store_);
}

TEST_F(purges, of_several_users_all_end) {
    for (int user = 1; user <= 3; ++user) {
        get_user(one(*store_, new_user("u", std::to_string(user) + "@example.org")));
        for (int i = 0; i < 1100;) {
            std::vector<command> group;
            for (; group.size() < 64 && i < 1100; ++i) group.push_back(new_post(user, "t"));
            ASSERT_TRUE(apply(*store_, std::move(group)));
        }
    }
    for (model::id user = 1; user <= 3; ++user) doom(user);
    expect_sound(*store_);
    snapshot view(*store_);
    view.renew();
    EXPECT_EQ(view.posts({}, {}, [](auto const&) { FAIL(); }).total, 0u);
    view.reset();
    while (apply_group(store_->native(), {}, purge_posts_max).more_to_purge) expect_sound(*store_);
    expect_sound(*store_);
}

TEST_F(purges, count_a_cascade_towards_the_size_of_its_group) {
    std::vector<command> commands;
    for (int user = 1; user <= 4; ++user) {
        get_user(one(*store_, new_user("u", std::to_string(user) + "@example.org")));
        for (int i = 0; i < 1000;) {
            std::vector<command> group;
            for (; group.size() < 64 && i < 1000; ++i) group.push_back(new_post(user, "t"));
            ASSERT_TRUE(apply(*store_, std::move(group)));
        }
        commands.push_back({.action = delete_user{user}});
    }
    std::vector<outcome> outcomes(commands.size());
    std::vector<job> jobs;
    for (std::size_t i = 0; i < commands.size(); ++i) jobs.push_back({&commands[i], &outcomes[i]});
    auto const result = apply_group(store_->native(), jobs, 0);
    EXPECT_EQ(result.job_count, 2u);
    EXPECT_EQ(result.failure, 0);
    EXPECT_TRUE(result.committed);
    expect_sound(*store_);
}

}  // namespace
}  // namespace latchkey::domain
