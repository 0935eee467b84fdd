#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

// Until the store is full; how many posts it took.
int fill(environment& store, std::string const& body) {
    for (int count = 0; count < 100'000;) {
        std::vector<command> group;
        for (int i = 0; i < 16; ++i)
            group.push_back(new_post(1, "t", model::post_status::draft, body));
        for (auto const& answer : apply(store, std::move(group)).value()) {
            if (answer.problem == problem::storage_full) return count;
            EXPECT_EQ(answer.problem, problem::none);
            ++count;
        }
    }
    ADD_FAILURE() << "the store is never full";
    return 0;
}

class full_stores : public testing::TestWithParam<std::size_t> {};

TEST_P(full_stores, say_so_and_still_read_and_delete) {
    temporary_directory const directory;
    auto const store = open_store(directory.path(), 2 << 20);
    snapshot seen(*store);
    made_user(one(*store, new_user("Ann", "ann@example.org")));
    std::string const body(GetParam(), 'b');
    auto const count = fill(*store, body);
    ASSERT_GT(count, 10);
    expect_whole(*store);

    EXPECT_EQ(one(*store, new_user("Bob", "bob@example.org")).problem, problem::storage_full);
    EXPECT_EQ(one(*store, {.what = change_post{.id = 1, .title = "x"}}).problem,
              problem::storage_full);
    // What is wrong with a command is told before.
    EXPECT_EQ(one(*store, new_user("Ann", "ann@example.org")).problem, problem::email_taken);
    EXPECT_EQ(one(*store, {.what = change_post{.id = 1, .title = "t"}}).problem, problem::none);
    seen.renew();
    EXPECT_EQ(seen.posts({}, {}, [](auto const&) {}).total, std::uint64_t(count));
    EXPECT_EQ(seen.post(count)->body, body);
    seen.reset();

    for (int i = 1; i <= count; ++i)
        ASSERT_EQ(one(*store, {.what = delete_post{i}}).problem, problem::none) << i;
    expect_whole(*store);
    EXPECT_EQ(made_user(one(*store, new_user("Bob", "bob@example.org"))).id, 2);
    EXPECT_GT(fill(*store, body), count / 2);
    EXPECT_EQ(one(*store, {.what = delete_user{1}}).problem, problem::none);
    expect_whole(*store);
}

INSTANTIATE_TEST_SUITE_P(with_bodies, full_stores, testing::Values(0, 100, 1500, 20'000));

TEST(full_stores, go_on_through_the_writer) {
    temporary_directory const directory;
    auto const store = open_store(directory.path(), 4 << 20);
    made_user(one(*store, new_user("Ann", "ann@example.org")));
    writer through(*store);
    waiter home;
    std::vector<ticket> tickets(2000);
    std::size_t submitted = 0;
    for (auto& mine : tickets) {
        mine.command = new_post(1, "t", model::post_status::draft, std::string(4000, 'b'));
        mine.home = &home;
        if (through.submit(mine)) ++submitted;
    }
    home.wait_for(submitted);
    std::size_t kept = 0, full = 0;
    for (auto const& mine : tickets) {
        kept += mine.outcome.problem == problem::none;
        full += mine.outcome.problem == problem::storage_full;
    }
    EXPECT_EQ(kept + full, submitted);
    EXPECT_GT(kept, 100u);
    EXPECT_GT(full, 100u);
    EXPECT_EQ(ask(through, {.what = delete_user{1}}).problem, problem::none);
    EXPECT_EQ(ask(through, new_user("Bob", "bob@example.org")).problem, problem::none);
    through.stop();
    expect_whole(*store);
}

}  // namespace
}  // namespace latchkey::store
