#include "store/engine/space.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

// Adds posts until the store is full; returns how many.
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

TEST_P(full_stores, reject_growth_and_still_read_and_delete) {
    temporary_directory const directory;
    auto const store = open_store(directory.path(), 2 << 20);
    snapshot seen(*store);
    get_user(one(*store, new_user("Ann", "ann@example.org")));
    std::string const body(GetParam(), 'b');
    auto const large = fill(*store, body);
    ASSERT_GT(large, 10);
    // When a large post does not fit, small ones still may.
    auto const count = large + fill(*store, {});
    expect_sound(*store);

    EXPECT_EQ(one(*store, new_user("Bob", "bob@example.org")).problem, problem::storage_full);
    EXPECT_EQ(one(*store, {.action = change_post{.id = 1, .title = "x"}}).problem,
              problem::storage_full);
    // Faults of a command take precedence.
    EXPECT_EQ(one(*store, new_user("Ann", "ann@example.org")).problem, problem::email_taken);
    EXPECT_EQ(one(*store, {.action = change_post{.id = 1, .title = "t"}}).problem, problem::none);
    seen.renew();
    EXPECT_EQ(seen.posts({}, {}, [](auto const&) {}).total, std::uint64_t(count));
    EXPECT_EQ(seen.post(large)->body, body);
    seen.reset();

    for (int i = 1; i <= count; ++i)
        ASSERT_EQ(one(*store, {.action = delete_post{i}}).problem, problem::none) << i;
    expect_sound(*store);
    EXPECT_EQ(get_user(one(*store, new_user("Bob", "bob@example.org"))).id, 2);
    EXPECT_GT(fill(*store, body), count / 2);
    EXPECT_EQ(one(*store, {.action = delete_user{1}}).problem, problem::none);
    expect_sound(*store);
}

INSTANTIATE_TEST_SUITE_P(with_bodies, full_stores, testing::Values(0, 100, 1500, 20'000));

TEST(full_stores, still_delete_through_the_writer) {
    temporary_directory const directory;
    auto const store = open_store(directory.path(), 4 << 20);
    get_user(one(*store, new_user("Ann", "ann@example.org")));
    writer store_writer(*store);
    ticket_waiter executor;
    std::vector<ticket> tickets(2000);
    std::size_t submitted = 0;
    for (auto& pending : tickets) {
        pending.command = new_post(1, "t", model::post_status::draft, std::string(4000, 'b'));
        pending.executor = &executor;
        if (store_writer.submit(pending)) ++submitted;
    }
    executor.wait_for(submitted);
    std::size_t accepted = 0, full = 0;
    for (auto const& pending : tickets) {
        accepted += pending.outcome.problem == problem::none;
        full += pending.outcome.problem == problem::storage_full;
    }
    EXPECT_EQ(accepted + full, submitted);
    EXPECT_GT(accepted, 100u);
    EXPECT_GT(full, 100u);
    EXPECT_EQ(ask(store_writer, {.action = delete_user{1}}).problem, problem::none);
    EXPECT_EQ(ask(store_writer, new_user("Bob", "bob@example.org")).problem, problem::none);
    store_writer.stop();
    expect_sound(*store);
}

// A server's store at its bound (below the size of the map), with bodies of one page each, of which
// every second is deleted: its free pages are scattered.
struct fragmented_store {
    static constexpr std::uint64_t bound = 32 << 20;
    temporary_directory directory;
    std::unique_ptr<environment> store;
    int count = 0;

    void open() {
        store.reset();
        auto result = environment::open(
            {.directory = directory.path(), .map_bytes = bound, .for_server = true, .sync = false});
        ASSERT_TRUE(result) << result.error().message;
        store = std::move(result.value());
    }
    void fill_and_delete_half() {
        open();
        get_user(one(*store, new_user("Ann", "ann@example.org")));
        count = fill(*store, std::string(3000, 'b'));
        delete_posts(1, count, 2);
    }
    void delete_posts(int begin, int end, int step = 1) {
        for (int i = begin; i <= end; i += step)
            ASSERT_EQ(one(*store, {.action = delete_post{i}}).problem, problem::none) << i;
    }
    std::uint64_t file_bytes() { return space_of(*store).used_bytes; }
};

command long_post() {
    return new_post(1, "long", model::post_status::draft, std::string(65'000, 'l'));
}

TEST(fragmented_stores, do_not_pass_their_bound) {
    fragmented_store fragmented;
    fragmented.fill_and_delete_half();
    EXPECT_LT(fill(*fragmented.store, std::string(65'000, 'l')), 10)
        << "what is free lies in no row";
    EXPECT_LE(fragmented.file_bytes(), fragmented.bound);
    // Commands without consecutive pages still work, and so do deletions.
    auto const more = fill(*fragmented.store, std::string(1000, 's'));
    EXPECT_GT(more, 500);
    EXPECT_LE(fragmented.file_bytes(), fragmented.bound);
    fragmented.delete_posts(2, fragmented.count, 2);
    fragmented.delete_posts(fragmented.count + 1, fragmented.count + more);
    // Adjacent free pages are consecutive.
    EXPECT_GT(fill(*fragmented.store, std::string(65'000, 'l')), 100);
    EXPECT_LE(fragmented.file_bytes(), fragmented.bound);
    expect_sound(*fragmented.store);
}

TEST(fragmented_stores, accept_short_posts_when_long_ones_do_not_fit) {
    fragmented_store fragmented;
    fragmented.fill_and_delete_half();
    fill(*fragmented.store, std::string(65'000, 'l'));
    writer store_writer(*fragmented.store);
    ticket_waiter executor;
    std::vector<ticket> tickets(600);
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        auto const name = std::to_string(i);
        tickets[i].command = i % 2 ? long_post() : new_user(name, name + "@example.org");
        tickets[i].executor = &executor;
        ASSERT_TRUE(store_writer.submit(tickets[i]));
    }
    executor.wait_for(tickets.size());
    for (std::size_t i = 0; i < tickets.size(); ++i)
        EXPECT_EQ(tickets[i].outcome.problem, i % 2 ? problem::storage_full : problem::none) << i;
    store_writer.stop();
    EXPECT_LE(fragmented.file_bytes(), fragmented.bound);
    expect_sound(*fragmented.store);
}

// LMDB reuses pages in the second transaction after the one that freed them; a refused command
// makes none.
TEST(fragmented_stores, take_a_long_post_when_one_was_deleted) {
    fragmented_store fragmented;
    fragmented.fill_and_delete_half();
    fragmented.delete_posts(2, 200, 2);
    auto const first = get_post(one(*fragmented.store, long_post())).id;
    fill(*fragmented.store, std::string(65'000, 'l'));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(one(*fragmented.store, long_post()).problem, problem::storage_full);
    EXPECT_EQ(one(*fragmented.store, {.action = delete_post{first}}).problem, problem::none);
    EXPECT_EQ(one(*fragmented.store, long_post()).problem, problem::none);
    EXPECT_EQ(one(*fragmented.store, long_post()).problem, problem::storage_full);
}

TEST(fragmented_stores, let_posts_be_deleted_below_a_lowered_bound) {
    fragmented_store fragmented;
    fragmented.fill_and_delete_half();
    fragmented.store.reset();
    auto result = environment::open({.directory = fragmented.directory.path(),
                                     .map_bytes = 1 << 20,
                                     .for_server = true,
                                     .sync = false});
    ASSERT_TRUE(result) << result.error().message;
    auto& store = *result.value();
    auto const initial = space_of(store).used_bytes;
    EXPECT_EQ(one(store, long_post()).problem, problem::storage_full);
    for (int i = 2; i <= fragmented.count; i += 2)
        ASSERT_EQ(one(store, {.action = delete_post{i}}).problem, problem::none) << i;
    EXPECT_LE(space_of(store).used_bytes, initial + (8 << 20));
    expect_sound(store);
}

}  // namespace
}  // namespace latchkey::store
