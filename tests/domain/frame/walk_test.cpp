// Walks through long lists by `range.after_id`, which is what a cursor contains: a record that
// exists throughout is emitted once, whatever is inserted and deleted in between, and a page deep
// in a list costs as much as the first one.
//
// 20,000 posts, or LATCHKEY_WALK_POSTS (1,000,000 take minutes).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "../support.hpp"
#include "base/limits.hpp"
#include "domain/writer/group.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {
namespace {

constexpr model::id user_count = 10;

std::size_t post_count() {
    auto const* const text = std::getenv("LATCHKEY_WALK_POSTS");
    return text != nullptr ? std::stoul(text) : 20'000;
}

model::id user_of(model::id post) {
    return 1 + post % user_count;
}
model::post_status status_of(model::id post) {
    return static_cast<model::post_status>(post % 7 % 3);
}

// As many commands as one group holds, in one transaction.
void apply_all(environment& store, std::vector<command> const& commands) {
    std::vector<outcome> outcomes(commands.size());
    std::vector<job> jobs;
    for (std::size_t i = 0; i < commands.size(); ++i) jobs.push_back({&commands[i], &outcomes[i]});
    for (std::span<job const> rest = jobs; !rest.empty();)
        rest = rest.subspan(apply_group(store.native(), rest, 0).job_count);
    for (auto const& each : outcomes) ASSERT_EQ(each.problem, base::problem::none);
}

class long_walks : public ::testing::Test {
  protected:
    void SetUp() override {
        std::vector<command> commands;
        for (model::id i = 1; i <= user_count; ++i)
            commands.push_back(new_user("U", "u" + std::to_string(i) + "@example.com"));
        apply_all(*store_, commands);
        commands.clear();
        for (model::id id = 1; id <= count_; ++id) {
            commands.push_back(new_post(user_of(id), "T", status_of(id)));
            if (commands.size() < base::limits::commands_per_commit_max && id < count_) continue;
            ASSERT_NO_FATAL_FAILURE(apply_all(*store_, commands));
            commands.clear();
        }
    }

    // The ids page by page, in the order of the list. The snapshot is renewed between two pages, as
    // it is between two requests.
    std::vector<model::id> walk(post_filter const& filter, bool descending,
                                std::vector<double>* microseconds = nullptr) {
        snapshot seen(*store_);
        std::vector<model::id> all;
        range part{.skip = 0, .after_id = 0, .limit = 100, .descending = descending};
        for (bool more = true; more;) {
            seen.renew();
            auto const start = std::chrono::steady_clock::now();
            auto const page =
                seen.posts(filter, part, [&](auto const& post) { all.push_back(post.id); });
            std::chrono::duration<double, std::micro> const took =
                std::chrono::steady_clock::now() - start;
            if (microseconds != nullptr) microseconds->push_back(took.count());
            more = page.has_more;
            part.after_id = page.last;
        }
        return all;
    }

    // Checks the ids of a walk against the records that were deleted during it.
    void expect_all(std::vector<model::id> const& walked, post_filter const& filter,
                    bool descending, std::vector<bool> const& deleted) {
        auto const belongs = [&](model::id id) {
            return filter.user_id.value_or(user_of(id)) == user_of(id) &&
                   filter.status.value_or(status_of(id)) == status_of(id);
        };
        std::size_t out_of_order = 0, foreign = 0, skipped = 0;
        std::vector<bool> seen(static_cast<std::size_t>(count_) + 1);
        for (std::size_t i = 0; i < walked.size(); ++i) {
            if (i != 0 && (walked[i] <= walked[i - 1]) != descending) ++out_of_order;
            if (i != 0 && walked[i] == walked[i - 1]) ++out_of_order;
            if (!belongs(walked[i])) ++foreign;
            if (walked[i] <= count_) seen[static_cast<std::size_t>(walked[i])] = true;
        }
        for (model::id id = 1; id <= count_; ++id) {
            auto const index = static_cast<std::size_t>(id);
            if (belongs(id) && !deleted[index] && !seen[index]) ++skipped;
        }
        EXPECT_EQ(out_of_order, 0u) << "ids strictly go one way, so none comes twice";
        EXPECT_EQ(foreign, 0u);
        EXPECT_EQ(skipped, 0u) << "of those that existed throughout";
    }

    model::id const count_ = static_cast<model::id>(post_count());
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path(), 4ull << 30);
};

// Inserts and deletes posts at random until it is stopped, and records which of the first ones it
// deleted. New posts get the user and status that belong to their ids.
std::vector<bool> disturb(environment& store, model::id count, std::atomic<bool> const& stop,
                          std::atomic<std::size_t>& committed_count) {
    std::minstd_rand random(1);
    std::vector<bool> deleted(static_cast<std::size_t>(count) + 1);
    for (model::id next = count + 1; !stop;) {
        std::vector<command> commands;
        for (int i = 0; i < 8; ++i) {
            auto const victim = static_cast<model::id>(random() % static_cast<unsigned>(count)) + 1;
            auto const index = static_cast<std::size_t>(victim);
            if (!deleted[index]) commands.push_back({.action = delete_post{victim}});
            deleted[index] = true;
            commands.push_back(new_post(user_of(next), "N", status_of(next)));
            ++next;
        }
        apply_all(store, commands);
        committed_count += commands.size();
        std::this_thread::yield();
    }
    return deleted;
}

TEST_F(long_walks, skip_and_repeat_no_record_despite_changes) {
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> committed_count = 0;
    std::vector<bool> deleted;
    struct one_walk {
        post_filter filter;
        bool descending;
        std::vector<model::id> ids;
    };
    post_filter const filters[] = {
        {},
        {.user_id = 3, .status = std::nullopt},
        {.user_id = std::nullopt, .status = model::post_status::archived},
        {.user_id = 4, .status = model::post_status::published}};
    std::vector<one_walk> walks;
    std::thread other([&] { deleted = disturb(*store_, count_, stop, committed_count); });
    // Repeated until enough changes happened during the walks.
    while (walks.empty() || (committed_count <= 100 && walks.size() < 1000))
        for (bool const descending : {false, true})
            for (auto const& filter : filters)
                walks.push_back({filter, descending, walk(filter, descending)});
    stop = true;
    other.join();
    EXPECT_GT(committed_count, 100u) << "nothing came in between: this shows nothing";
    for (auto const& each : walks) expect_all(each.ids, each.filter, each.descending, deleted);
    expect_sound(*store_);
}

// Compares the cheapest page of the first twentieth with that of the last, since other load can
// only make pages slower. By `skip`, a page in the middle of a million posts would cost thousands
// of times as much as the first.
TEST_F(long_walks, cost_the_same_at_the_end_as_at_the_beginning) {
    post_filter const filters[] = {{},
                                   {.user_id = 3, .status = std::nullopt},
                                   {.user_id = std::nullopt, .status = model::post_status::draft}};
    for (auto const& filter : filters)
        for (bool const descending : {false, true}) {
            std::vector<double> took;
            auto const ids = walk(filter, descending, &took);
            expect_all(ids, filter, descending,
                       std::vector<bool>(static_cast<std::size_t>(count_) + 1));
            took.pop_back();  // the last page may be short
            auto const part = std::max(std::ssize(took) / 20, std::ptrdiff_t{5});
            auto const first = *std::min_element(took.begin(), took.begin() + part);
            auto const last = *std::min_element(took.end() - part, took.end());
            std::printf("%zu posts, %zu pages: %.1f us a page at the beginning, %.1f at the end\n",
                        ids.size(), took.size() + 1, first, last);
            EXPECT_LT(last, 5 * first);
        }
}

}  // namespace
}  // namespace latchkey::domain
