// What a node believes of the others' presence, and of the cluster's clock.
#include "cluster/quota_members.hpp"

#include <gtest/gtest.h>

#include "base/time_units.hpp"
#include "cluster/quota_clock.hpp"
#include "cluster/quota_times.hpp"

namespace latchkey::cluster {
namespace {

constexpr std::int64_t millisecond = base::millisecond, second = base::second;
constexpr boot_ns start = 1000 * second;

struct quota_members_test : ::testing::Test {
    quota_members members;
    // The answer to what was sent at `time` shows the other member with that number.
    void see(boot_ns time, std::uint64_t presence, std::uint64_t process = 1) {
        std::vector<replicate::protocol::quota_member> const list = {
            {.name = "a", .process = 9, .presence = 5, .share = 600'000},
            {.name = "b", .process = process, .presence = presence, .share = 400'000}};
        members.update(list, "a", time);
    }
};

TEST_F(quota_members_test, a_new_member_is_silent_until_it_was_seen_to_ask_twice) {
    EXPECT_EQ(members.reserve(start), 0u);
    see(start, 7);
    EXPECT_EQ(members.reserve(start), 400'000u);
    EXPECT_EQ(members.count(), 2u);
    // Number 8 may have been sent at any time.
    see(start + 100 * millisecond, 8);
    EXPECT_EQ(members.reserve(start + 100 * millisecond), 400'000u);
    // Number 9 was sent after number 8 had arrived, which was after `start`.
    see(start + 200 * millisecond, 9);
    EXPECT_EQ(members.reserve(start + 200 * millisecond), 0u);
    EXPECT_EQ(members.reserve(start + quota_silence), 0u);
    EXPECT_EQ(members.reserve(start + quota_silence + 1), 400'000u);
}

TEST_F(quota_members_test, two_numbers_at_once_prove_the_same) {
    see(start, 7);
    see(start + 100 * millisecond, 9);
    EXPECT_EQ(members.reserve(start + quota_silence), 0u);
    EXPECT_EQ(members.reserve(start + quota_silence + 1), 400'000u);
}

TEST_F(quota_members_test, the_latest_answer_without_the_number_counts) {
    see(start, 7);
    see(start + 100 * millisecond, 7);
    see(start + 200 * millisecond, 9);
    EXPECT_EQ(members.reserve(start + 100 * millisecond + quota_silence), 0u);
    EXPECT_EQ(members.reserve(start + 100 * millisecond + quota_silence + 1), 400'000u);
}

TEST_F(quota_members_test, a_number_that_came_late_does_not_make_a_member_present) {
    see(start, 7);
    see(start + 100 * millisecond, 9);
    see(start + 5 * second, 9);
    see(start + 5 * second + 100 * millisecond, 10);
    EXPECT_EQ(members.reserve(start + 5 * second + 200 * millisecond), 400'000u);
}

TEST_F(quota_members_test, another_process_is_another_member) {
    see(start, 7);
    see(start + 100 * millisecond, 9);
    see(start + 200 * millisecond, 11, 2);
    EXPECT_EQ(members.reserve(start + 200 * millisecond), 400'000u);
}

TEST(quota_clock, is_raised_to_what_others_had_told_and_not_beyond) {
    quota_clock clock;
    EXPECT_FALSE(clock.is_valid(start));
    clock.adopt(500 * second, start, start + millisecond);
    EXPECT_EQ(clock.estimate(start + millisecond), 500 * second);
    clock.confirm(500 * second, start + 2 * millisecond, start + 3 * millisecond);
    EXPECT_EQ(clock.estimate(start + 3 * millisecond), 500 * second + 2 * millisecond);
    clock.confirm(501 * second, start + 4 * millisecond, start + 5 * millisecond);
    EXPECT_EQ(clock.estimate(start + 5 * millisecond), 501 * second);
    EXPECT_EQ(clock.local(501 * second), start + 5 * millisecond);
    EXPECT_EQ(clock.lag_max(), quota_validity + millisecond);
}

TEST(quota_clock, is_taken_anew_when_it_was_not_confirmed_in_time) {
    quota_clock clock;
    clock.adopt(500 * second, start, start);
    auto const late = start + quota_validity + 1;
    EXPECT_TRUE(clock.is_valid(late - 1));
    EXPECT_FALSE(clock.is_valid(late));
    // Others may have gone on from less.
    clock.confirm(500 * second, start + millisecond, late);
    EXPECT_EQ(clock.estimate(late), 500 * second);
}

}  // namespace
}  // namespace latchkey::cluster
