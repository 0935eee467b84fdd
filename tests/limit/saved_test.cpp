#include "limit/saved.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace latchkey::limit {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr base::instant stopped{5000 * second, 1'700'000'000'000};

policy one_limit(std::uint32_t limit, std::uint32_t window, std::uint8_t slot = 0) {
    std::vector<model::rate_limit> const limits = {{"a", limit, window, 0}};
    return prepare(limits, std::array<std::uint8_t, 1>{slot});
}

std::string saved(buckets const& from, base::instant now) {
    std::string bytes;
    EXPECT_TRUE(save(from, now, [&](std::string_view part) {
        EXPECT_LE(part.size(), 64u * 1024);
        bytes += part;
        return true;
    }));
    return bytes;
}

std::unique_ptr<buckets> table(std::uint64_t keys = 64) {
    return buckets::make(keys).value();
}

std::string why_not(base::instant now, std::string_view bytes) {
    auto const to = table();
    auto const done = restore(*to, now, bytes);
    bool untouched = true;
    to->each_debt(now.mono, [&](model::id, debts const&) { return untouched = false; });
    EXPECT_TRUE(done || untouched);
    return done ? "" : done.error().message;
}

// After a restart the monotonic clock may stand anywhere, also lower than before.
base::instant after(std::int64_t milliseconds) {
    return {7 * second, stopped.wall + milliseconds};
}

TEST(saved_buckets, owe_after_a_restart_what_has_not_refilled) {
    auto const rules = one_limit(10, 100);
    auto const before = table();
    EXPECT_TRUE(before->admit(5, rules, stopped.mono, 10).admitted());
    auto const bytes = saved(*before, stopped);
    auto const at = table();
    EXPECT_EQ(restore(*at, after(25'001), bytes).value(), 1u);
    EXPECT_EQ(at->admit(5, rules, 7 * second, 0).standings[0].remaining, 2u);
    EXPECT_EQ(at->admit(5, rules, 7 * second, 0).standings[0].full_in_seconds, 75u);
    EXPECT_FALSE(at->admit(5, rules, 7 * second, 3).admitted());
    EXPECT_TRUE(at->admit(5, rules, 7 * second, 2).admitted());
    EXPECT_EQ(at->admit(6, rules, 7 * second, 0).standings[0].remaining, 10u);
}

TEST(saved_buckets, never_refill_too_early) {
    auto const rules = one_limit(1000, 1);  // a token each millisecond
    auto const before = table();
    EXPECT_TRUE(before->admit(1, rules, stopped.mono, 1000).admitted());
    auto const bytes = saved(*before, stopped);
    auto const at = table();
    ASSERT_TRUE(restore(*at, after(10), bytes));
    EXPECT_EQ(at->admit(1, rules, 7 * second, 0).standings[0].remaining, 9u);
}

TEST(saved_buckets, keep_every_slot_and_leave_out_what_is_full) {
    auto const before = table();
    for (std::uint8_t slot = 0; slot < 8; ++slot)
        EXPECT_TRUE(before->admit(9, one_limit(10, 100, slot), stopped.mono, slot + 1u).admitted());
    EXPECT_TRUE(before->admit(10, one_limit(1, 1), stopped.mono - 2 * second, 1).admitted());
    auto const bytes = saved(*before, stopped);
    auto const at = table();
    EXPECT_EQ(restore(*at, after(1), bytes).value(), 1u);
    for (std::uint8_t slot = 0; slot < 8; ++slot)
        EXPECT_EQ(
            at->admit(9, one_limit(10, 100, slot), 7 * second, 0).standings[0].full_in_seconds,
            10u * (slot + 1u));
}

TEST(saved_buckets, take_no_time_for_passed_when_the_wall_clock_went_back) {
    auto const rules = one_limit(10, 100);
    auto const before = table();
    EXPECT_TRUE(before->admit(5, rules, stopped.mono, 10).admitted());
    auto const at = table();
    ASSERT_TRUE(restore(*at, after(-3'600'000), saved(*before, stopped)));
    EXPECT_EQ(at->admit(5, rules, 7 * second, 0).standings[0].full_in_seconds, 100u);
}

TEST(saved_buckets, are_full_after_years) {
    auto const rules = one_limit(1, 31'536'000);
    auto const before = table();
    EXPECT_TRUE(before->admit(5, rules, stopped.mono, 1).admitted());
    auto const bytes = saved(*before, stopped);
    for (auto const years : {std::int64_t{2}, std::int64_t{200}}) {
        auto const at = table();
        ASSERT_TRUE(restore(*at, after(years * 366 * 86'400'000), bytes));
        EXPECT_TRUE(at->admit(5, rules, 7 * second, 1).admitted());
    }
}

TEST(saved_buckets, of_many_keys_are_all_there) {
    constexpr std::uint64_t keys = 20'000;  // several parts
    auto const rules = one_limit(1'000'000, 1'000'000);
    auto const before = table(keys), at = table(keys);
    std::mt19937_64 random(1);
    std::vector<std::uint32_t> spent(keys);
    for (std::uint64_t key = 1; key < keys; ++key) {
        spent[key] = static_cast<std::uint32_t>(random() % 1000);
        ASSERT_TRUE(
            before->admit(static_cast<model::id>(key), rules, stopped.mono, spent[key]).admitted());
    }
    auto const bytes = saved(*before, stopped);
    EXPECT_GT(bytes.size(), 3u * 64 * 1024);
    ASSERT_TRUE(restore(*at, after(0), bytes));
    for (std::uint64_t key = 1; key < keys; ++key)
        ASSERT_EQ(at->admit(static_cast<model::id>(key), rules, 7 * second, 0)
                      .standings[0]
                      .full_in_seconds,
                  spent[key]);
    EXPECT_EQ(saved(*at, {7 * second, stopped.wall}), bytes);
}

TEST(saved_buckets, of_keys_beyond_the_table_are_left_out) {
    auto const before = table(64), at = table(8);
    auto const rules = one_limit(10, 100);
    EXPECT_TRUE(before->admit(60, rules, stopped.mono, 1).admitted());
    EXPECT_TRUE(restore(*at, after(0), saved(*before, stopped)));
}

TEST(saved_buckets, of_nobody_are_whole) {
    EXPECT_EQ(why_not(after(0), saved(*table(), stopped)), "");
}

TEST(saved_buckets, that_are_damaged_restore_nothing) {
    auto const before = table();
    for (model::id key = 1; key < 60; ++key)
        EXPECT_TRUE(before->admit(key, one_limit(10, 100), stopped.mono, 3).admitted());
    auto const bytes = saved(*before, stopped);
    EXPECT_EQ(why_not(after(0), bytes), "");
    for (std::size_t size = 0; size < bytes.size(); ++size)
        ASSERT_NE(why_not(after(0), std::string_view(bytes).substr(0, size)), "") << size;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        ASSERT_NE(why_not(after(0), damaged), "") << i;
    }
    EXPECT_NE(why_not(after(0), bytes + '\0'), "");
}

TEST(saved_buckets, end_early_when_they_cannot_be_written) {
    auto const before = table(20'000);
    for (model::id key = 1; key < 20'000; ++key)
        EXPECT_TRUE(before->admit(key, one_limit(10, 100), stopped.mono, 3).admitted());
    int parts = 0;
    EXPECT_FALSE(save(*before, stopped, [&](std::string_view) { return ++parts < 2; }));
    EXPECT_EQ(parts, 2);
}

}  // namespace
}  // namespace latchkey::limit
