// Who is resumed when there is news of tokens, and that no news is lost on one who is about to wait.
#include "server/net/token_waiters.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/coro/task.hpp"
#include "runtime/coro/task_scope.hpp"

namespace latchkey::server {
namespace {

struct mail final : coro::executor {
    void post(coro::resumption& node) noexcept override { posts.push_back(&node); }
    std::size_t deliver() {
        auto const batch = std::exchange(posts, {});
        for (auto* const each : batch) each->resume();
        return batch.size();
    }
    std::vector<coro::resumption*> posts;
};

struct token_waiters_test : ::testing::Test {
    // Waits so often, and leaves its number each time.
    static coro::task<> wait(token_waiters_test* test, int number, int waits) {
        for (int i = 0; i < waits; ++i) {
            co_await token_waiters::wait(test->waiters, test->timers, test->worker, test->now);
            test->resumed.push_back(number);
        }
    }
    void begin(int number, int waits = 1) { tasks.spawn(wait, this, number, waits); }

    base::mono_ns now = base::second;
    mail worker;
    uring::timers timers{now};
    token_waiters waiters;
    std::vector<int> resumed;
    coro::scope tasks;
};

TEST_F(token_waiters_test, news_resumes_all_in_their_order) {
    waiters.tell(worker);
    EXPECT_TRUE(worker.posts.empty()) << "nobody waits";
    waiters.begin_turn();
    for (int number : {1, 2, 3}) begin(number);
    EXPECT_TRUE(worker.posts.empty());
    waiters.tell(worker);
    waiters.tell(worker);
    EXPECT_EQ(worker.deliver(), 1u);
    EXPECT_EQ(resumed, (std::vector{1, 2, 3}));
    waiters.tell(worker);
    EXPECT_TRUE(worker.posts.empty()) << "nobody waits any more";
}

TEST_F(token_waiters_test, who_waits_again_is_resumed_by_later_news) {
    begin(1, 3);
    begin(2);
    waiters.tell(worker);
    EXPECT_EQ(worker.deliver(), 1u);
    EXPECT_EQ(resumed, (std::vector{1, 2}));
    EXPECT_EQ(worker.deliver(), 0u);
    waiters.tell(worker);
    worker.deliver();
    waiters.tell(worker);
    worker.deliver();
    EXPECT_EQ(resumed, (std::vector{1, 2, 1, 1}));
}

// The grant came between the charge that found none and the wait.
TEST_F(token_waiters_test, news_of_the_same_turn_is_not_lost) {
    waiters.begin_turn();
    waiters.tell(worker);
    begin(1);
    EXPECT_EQ(worker.deliver(), 1u);
    EXPECT_EQ(resumed, std::vector{1});
    waiters.begin_turn();
    begin(2);
    EXPECT_EQ(worker.deliver(), 0u);
    waiters.tell(worker);
    worker.deliver();
}

TEST_F(token_waiters_test, a_wait_ends_without_news_too) {
    begin(1, 2);
    for (int round = 1; round <= 2; ++round) {
        timers.expire(now + token_waiters::interval - 1);
        EXPECT_TRUE(worker.posts.empty());
        now += token_waiters::interval + 64 * base::millisecond;
        timers.expire(now);
        EXPECT_EQ(worker.deliver(), 1u);
        EXPECT_EQ(resumed.size(), static_cast<std::size_t>(round));
    }
}

}  // namespace
}  // namespace latchkey::server
