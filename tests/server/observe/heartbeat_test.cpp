#include "server/observe/heartbeat.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace latchkey::server {
namespace {

// A worker that runs its tasks when the test says so.
struct idle_worker {
    std::vector<std::function<void()>> tasks;
    void post(std::function<void()> task) { tasks.push_back(std::move(task)); }
    void run() {
        for (auto const& task : std::exchange(tasks, {})) task();
    }
};

TEST(heartbeat, is_missed_by_a_worker_that_does_not_reply_for_five_seconds) {
    std::vector<std::unique_ptr<idle_worker>> workers;
    for (int i = 0; i < 2; ++i) workers.push_back(std::make_unique<idle_worker>());
    heartbeat beats;
    EXPECT_TRUE(beats.all_alive(workers, 100 * base::second));
    workers[0]->run();
    EXPECT_TRUE(beats.all_alive(workers, 105 * base::second - 1));
    EXPECT_EQ(workers[1]->tasks.size(), 1u) << "it is not asked again meanwhile";
    EXPECT_FALSE(beats.all_alive(workers, 105 * base::second));
    workers[1]->run();
    EXPECT_TRUE(beats.all_alive(workers, 106 * base::second));
    EXPECT_TRUE(beats.all_alive(workers, 109 * base::second));
    EXPECT_FALSE(beats.all_alive(workers, 111 * base::second)) << "neither has replied since 106 s";
}

}  // namespace
}  // namespace latchkey::server
