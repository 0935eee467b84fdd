#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "../../domain/support.hpp"
#include "store/environment_state.hpp"
#include "store/transaction.hpp"

namespace latchkey::store {
using namespace domain;  // whose commands fill the store

namespace {

using base::problem;
using namespace std::chrono_literals;

constexpr base::mono_ns ms = 1'000'000;

// Stands for another process with a transaction: flock counts for each open file.
class foreign_lock {
  public:
    explicit foreign_lock(std::string const& directory)
        : descriptor_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY)) {
        EXPECT_EQ(::flock(descriptor_, LOCK_EX | LOCK_NB), 0);
    }
    ~foreign_lock() { ::close(descriptor_); }
    foreign_lock(foreign_lock const&) = delete;
    foreign_lock& operator=(foreign_lock const&) = delete;

  private:
    int descriptor_;
};

bool comes_true(base::function_ref<bool()> condition) {
    for (int i = 0; i < 1000; ++i, std::this_thread::sleep_for(5ms))
        if (condition()) return true;
    return false;
}

struct write_locks : testing::Test {
    temporary_directory directory;
    std::unique_ptr<environment> store = open_store(directory.path());

    std::unique_ptr<writer> make_writer(base::mono_ns patience) {
        auto result = std::make_unique<writer>(*store);
        store->native().lock_patience = patience;
        return result;
    }
};

TEST_F(write_locks, held_too_long_elsewhere_make_the_writer_refuse) {
    get_user(one(*store, new_user("Ann", "ann@example.org")));
    auto const store_writer = make_writer(100 * ms);
    EXPECT_EQ(ask(*store_writer, new_user("Bob", "bob@example.org")).problem, problem::none);
    EXPECT_TRUE(store_writer->lockout().empty());
    std::vector<ticket> early(20);
    ticket_waiter executor;
    {
        foreign_lock const held(directory.path());
        for (std::size_t i = 0; i < early.size(); ++i) {
            auto const name = std::to_string(i);
            early[i].command = new_user(name, name + "@example.org");
            early[i].executor = &executor;
            ASSERT_TRUE(store_writer->submit(early[i]));
        }
        executor.wait_for(early.size());
        for (auto const& each : early) EXPECT_EQ(each.outcome.problem, problem::store_busy);
        ASSERT_TRUE(comes_true([&] { return !store_writer->lockout().empty(); }));
        auto const holder =
            "process " + std::to_string(::getpid()) + " has held the write lock for ";
        EXPECT_TRUE(store_writer->lockout().starts_with(holder)) << store_writer->lockout();
        ticket late;
        late.command = new_user("Eve", "eve@example.org");
        late.executor = &executor;
        EXPECT_FALSE(store_writer->submit(late));
        EXPECT_EQ(store_writer->refusal(), problem::store_busy);
        snapshot seen(*store);
        seen.renew();
        EXPECT_EQ(seen.users({}, [](auto const&) {}).total, 2u) << "reads go on";
    }
    EXPECT_TRUE(comes_true([&] { return store_writer->lockout().empty(); }));
    EXPECT_EQ(ask(*store_writer, new_user("Eve", "eve@example.org")).problem, problem::none);
    EXPECT_EQ(store_writer->refusal(), problem::overloaded);
    store_writer->stop();
    expect_sound(*store);
}

TEST_F(write_locks, held_elsewhere_do_not_keep_the_writer_from_stopping) {
    auto const store_writer = make_writer(3600'000 * ms);
    EXPECT_EQ(ask(*store_writer, new_user("Bob", "bob@example.org")).problem, problem::none);
    foreign_lock const held(directory.path());
    ticket_waiter executor;
    ticket pending;
    pending.command = new_user("Eve", "eve@example.org");
    pending.executor = &executor;
    ASSERT_TRUE(store_writer->submit(pending));
    std::this_thread::sleep_for(20ms);
    store_writer->shorten_waits();
    executor.wait_for(1);
    EXPECT_EQ(pending.outcome.problem, problem::store_busy);
    store_writer->stop();
}

TEST_F(write_locks, held_elsewhere_do_not_keep_a_store_from_opening) {
    store.reset();
    foreign_lock const held(directory.path());
    store = open_store(directory.path());
    ASSERT_TRUE(store);
    snapshot seen(*store);
    seen.renew();
    EXPECT_EQ(seen.users({}, [](auto const&) {}).total, 0u);
}

sig_atomic_t volatile stops = 0;

// A handler stands for the stop: both happen when the signal is unblocked.
TEST_F(write_locks, block_stops_of_their_holder_from_a_terminal) {
    struct sigaction counting{}, before{};
    counting.sa_handler = [](int) { stops = stops + 1; };
    for (int const number : {SIGTSTP, SIGTTIN, SIGTTOU}) {
        stops = 0;
        ASSERT_EQ(::sigaction(number, &counting, &before), 0);
        {
            transaction txn(store->native());
            ::raise(number);
            txn.force_commit();
            EXPECT_EQ(stops, 0);
            EXPECT_EQ(txn.commit(), 0);
            EXPECT_EQ(stops, 1) << "as soon as the lock is free";
        }
        {
            transaction txn(store->native());
            ::raise(number);
            EXPECT_EQ(stops, 1);
        }
        EXPECT_EQ(stops, 2);
        ::raise(number);
        EXPECT_EQ(stops, 3);
        ::sigaction(number, &before, nullptr);
    }
}

}  // namespace
}  // namespace latchkey::store
