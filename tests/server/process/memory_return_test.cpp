#include "server/process/memory_return.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace latchkey::server
