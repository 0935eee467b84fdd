#include "server/process/memory_return.hpp"

#include <gtest/gtest.h>

#include "server/observe/metrics.hpp"

namespace latchkey::server {
namespace {

constexpr std::uint64_t one_mib = std::uint64_t{1} << 20;

TEST(memory_return, waits_until_it_is_quiet) {
    memory_return trimmer;
    base::mono_ns now = 100 * memory_return::look_every;
    EXPECT_FALSE(trimmer.look(300 * one_mib, 300 * one_mib, now));
    EXPECT_FALSE(trimmer.look(160 * one_mib, 300 * one_mib, now += memory_return::look_every))
        << "much is kept still";
    EXPECT_FALSE(trimmer.look(70 * one_mib, 300 * one_mib, now += memory_return::look_every))
        << "for the first time";
    EXPECT_FALSE(trimmer.look(200 * one_mib, 300 * one_mib, now += memory_return::look_every));
    EXPECT_FALSE(trimmer.look(10 * one_mib, 300 * one_mib, now += memory_return::look_every));
    EXPECT_TRUE(trimmer.look(10 * one_mib, 300 * one_mib, now += memory_return::look_every));
    EXPECT_FALSE(trimmer.look(10 * one_mib, 10 * one_mib, now += memory_return::look_every))
        << "there is nothing more";
}

TEST(memory_return, is_not_for_little_and_not_all_the_time) {
    memory_return trimmer;
    base::mono_ns now = 100 * memory_return::look_every;
    for (int i = 0; i < 10; ++i)
        EXPECT_FALSE(trimmer.look(0, 15 * one_mib, now += memory_return::look_every));
    EXPECT_FALSE(trimmer.look(0, 16 * one_mib, now += memory_return::look_every));
    EXPECT_TRUE(trimmer.look(0, 16 * one_mib, now += memory_return::look_every));
    auto const trimmed = now;
    while (!trimmer.look(0, 16 * one_mib, now += memory_return::look_every))
        ASSERT_LT(now, trimmed + 60 * memory_return::look_every);
    EXPECT_EQ(now, trimmed + 5 * memory_return::look_every);
}

// What connections took, of which each holds nothing.
TEST(memory_return, follows_many_connections_that_have_ended) {
    worker_metrics gauges;
    struct worker {
        worker_metrics& gauges;
        int resets = 0;
        worker_metrics const& metrics() const { return gauges; }
        void reset_held_peak() { ++resets; }
    } only{gauges};
    worker* const workers[] = {&only};
    memory_return trimmer;
    base::mono_ns now = 100 * memory_return::look_every;
    gauges.connections.set(4000);
    for (int i = 0; i < 3; ++i) trimmer.look_at(workers, now += memory_return::look_every);
    EXPECT_EQ(only.resets, 0);
    gauges.connections.set(1000);
    for (int i = 0; i < 3; ++i) trimmer.look_at(workers, now += memory_return::look_every);
    EXPECT_EQ(only.resets, 1) << "once";
}

}  // namespace
}  // namespace latchkey::server
