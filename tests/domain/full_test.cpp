#include <atomic>
#include <chrono>
#include <thread>

#include "domain/writer/group.hpp"
#include "store/environment_state.hpp"
#include "store/files/space.hpp"
#include "support.hpp"

namespace latchkey::domain {
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
    static constexpr std::uint64_t lowered_bound = 1 << 20;
    temporary_directory directory;
    std::unique_ptr<environment> store;
    int count = 0;

    void open(std::uint64_t map_bytes = bound) {
        store.reset();
        auto result = environment::open({.directory = directory.path(),
                                         .map_bytes = map_bytes,
                                         .for_server = true,
                                         .sync = false});
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
    // While a reader stays, what is freed cannot be used again: deletions take the file's end.
    // Returns the first post that it had no space for.
    int delete_beside_a_reader(int begin, int end, int step) {
        snapshot reader(*store);
        reader.renew();
        EXPECT_TRUE(reader.post(begin));
        store->native().readers_patience = 0;
        for (int id = begin; id <= end; id += step) {
            auto const outcome = one(*store, {.action = delete_post{id}});
            if (outcome.problem == problem::storage_full) return id;
            EXPECT_EQ(outcome.problem, problem::none);
        }
        return end + 1;
    }
    void delete_in_one_group(int begin, int end, int step) {
        std::vector<command> deletions;
        for (int id = begin; id <= end; id += step)
            deletions.push_back({.action = delete_post{id}});
        std::vector<outcome> outcomes(deletions.size());
        std::vector<job> jobs;
        for (std::size_t i = 0; i < deletions.size(); ++i)
            jobs.push_back({&deletions[i], &outcomes[i]});
        for (std::span<job const> rest = jobs; !rest.empty();) {
            auto const group = apply_group(store->native(), rest, 0);
            ASSERT_EQ(group.failure, 0);
            rest = rest.subspan(group.job_count);
        }
        for (auto const& each : outcomes) ASSERT_EQ(each.problem, problem::none);
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

// The longest list of pages that one transaction freed, in pages: LMDB keeps it as one value, on
// consecutive pages once it has more than some 510 numbers of 8 bytes.
std::size_t longest_free_list(environment& store) {
    auto const entry_bytes = sizeof(std::size_t);
    MDB_txn* txn = nullptr;
    MDB_cursor* cursor = nullptr;
    EXPECT_EQ(::mdb_txn_begin(store.native().env, nullptr, MDB_RDONLY, &txn), 0);
    EXPECT_EQ(::mdb_cursor_open(txn, 0, &cursor), 0);
    std::size_t longest = 0;
    MDB_val key, list;
    while (::mdb_cursor_get(cursor, &key, &list, MDB_NEXT) == 0)
        longest = std::max(longest, list.mv_size / entry_bytes);
    ::mdb_cursor_close(cursor);
    ::mdb_txn_abort(txn);
    return longest;
}

// What one group frees is listed on consecutive pages, which only the end of the file has.
struct full_of_long_posts : testing::TestWithParam<std::uint64_t> {
    fragmented_store fragmented;
    int count = 0;
    std::uint64_t initial_bytes = 0;

    void SetUp() override {
        fragmented.open();
        get_user(one(*fragmented.store, new_user("Ann", "ann@example.org")));
        count = fill(*fragmented.store, std::string(65'000, 'l'));
        fill(*fragmented.store, std::string(3000, 'b'));
        fill(*fragmented.store, {});
        fragmented.open(GetParam());
        initial_bytes = fragmented.file_bytes();
    }
};

TEST_P(full_of_long_posts, let_all_be_deleted_in_one_group) {
    fragmented.delete_in_one_group(1, count, 1);
    EXPECT_GT(longest_free_list(*fragmented.store), 2 * 510u);
    EXPECT_LE(fragmented.file_bytes(), initial_bytes + (1 << 20));
    expect_sound(*fragmented.store);
}

TEST_P(full_of_long_posts, let_them_be_deleted_when_the_end_of_the_file_is_used_up) {
    auto const rest = fragmented.delete_beside_a_reader(1, count, 1);
    EXPECT_GT(rest, 10);
    EXPECT_LT(rest, count / 2);
    fragmented.delete_in_one_group(rest, count, 1);
    EXPECT_LE(fragmented.file_bytes(), std::max(GetParam(), initial_bytes + (8 << 20)));
    expect_sound(*fragmented.store);
    EXPECT_GT(fill(*fragmented.store, std::string(65'000, 'l')), count * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(bounds, full_of_long_posts,
                         testing::Values(fragmented_store::bound, fragmented_store::lowered_bound));

TEST(fragmented_stores, let_all_be_deleted_when_the_end_of_the_file_is_used_up) {
    fragmented_store fragmented;
    fragmented.fill_and_delete_half();
    fill(*fragmented.store, {});
    auto const end = fragmented.count;
    auto const rest = fragmented.delete_beside_a_reader(2, end, 4);
    EXPECT_LT(rest, end);
    fragmented.delete_in_one_group(4, end, 4);
    EXPECT_LE(fragmented.file_bytes(), fragmented_store::bound);
    expect_sound(*fragmented.store);
}

// A worker that gets no processor reads one state for a while; deletions wait for it, in the place
// of being refused.
TEST(fragmented_stores, let_all_be_deleted_beside_a_reader_that_falls_behind) {
    fragmented_store fragmented;
    fragmented.fill_and_delete_half();
    auto& store = *fragmented.store;
    fill(store, {});
    store.native().readers_patience = 60 * base::second;
    auto const last_commit = [&store] {
        MDB_envinfo info;
        ::mdb_env_info(store.native().env, &info);
        return info.me_last_txnid;
    };
    std::atomic<bool> is_over = false;
    int times_behind = 0;
    std::thread worker([&] {
        snapshot reader(store);
        while (!is_over) {
            reader.renew();
            auto const first = last_commit();
            // It goes on once nothing was committed for a while, since a deletion waits for it.
            for (auto latest = first; !is_over; latest = last_commit()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
                if (latest == first || latest != last_commit()) continue;
                ++times_behind;
                break;
            }
            reader.reset();
        }
    });
    fragmented.delete_posts(2, fragmented.count, 2);
    is_over = true;
    worker.join();
    EXPECT_GT(times_behind, 0) << "deletions never waited";
    expect_sound(store);
}

// A backup reads one state for minutes: deletions wait for it once.
TEST(fragmented_stores, wait_once_for_a_reader_that_stays) {
    fragmented_store fragmented;
    fragmented.fill_and_delete_half();
    auto& store = *fragmented.store;
    fill(store, {});
    snapshot backup(store);
    backup.renew();
    store.native().readers_patience = 1;
    int id = 2;
    while (id <= fragmented.count &&
           one(store, {.action = delete_post{id}}).problem == problem::none)
        id += 2;
    ASSERT_LE(id, fragmented.count);
    store.native().readers_patience = 3600 * base::second;
    EXPECT_EQ(one(store, {.action = delete_post{id}}).problem, problem::storage_full) << "at once";
    backup.reset();
    EXPECT_EQ(one(store, {.action = delete_post{id}}).problem, problem::none);
    expect_sound(store);
}

TEST(fragmented_stores, let_posts_be_deleted_below_a_lowered_bound) {
    fragmented_store fragmented;
    fragmented.fill_and_delete_half();
    fragmented.open(fragmented_store::lowered_bound);
    auto& store = *fragmented.store;
    auto const initial = space_of(store).used_bytes;
    EXPECT_EQ(one(store, long_post()).problem, problem::storage_full);
    for (int i = 2; i <= fragmented.count; i += 2)
        ASSERT_EQ(one(store, {.action = delete_post{i}}).problem, problem::none) << i;
    EXPECT_LE(space_of(store).used_bytes, initial + (8 << 20));
    expect_sound(store);
}

}  // namespace
}  // namespace latchkey::domain
