#include "limit/bucket_snapshot.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/bytes.hpp"
#include "base/hash.hpp"

namespace latchkey::limit {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr base::instant stopped{5000 * second, 1'700'000'000'000};

policy one_limit(std::uint32_t limit, std::uint32_t window, std::uint8_t slot = 0) {
    std::vector<model::rate_limit> const limits = {{"a", limit, window, 0}};
    return prepare(limits, std::array<std::uint8_t, 1>{slot});
}

std::string snapshot_of(buckets const& source, base::instant now) {
    std::string bytes;
    EXPECT_TRUE(save(source, now, [&](std::string_view part) {
        EXPECT_LE(part.size(), 64u * 1024);
        bytes += part;
        return true;
    }));
    return bytes;
}

std::unique_ptr<buckets> table(std::uint64_t keys = 64) {
    return buckets::make(keys).value();
}

std::string restore_error(base::instant now, std::string_view bytes) {
    auto const target = table();
    auto const result = restore(*target, now, bytes);
    bool untouched = true;
    target->each_debt(now.mono, [&](model::id, bucket_debts const&) { return untouched = false; });
    EXPECT_TRUE(result || untouched);
    return result ? "" : result.error().message;
}

// After a restart the monotonic clock may have any value, also a lower one.
base::instant restart_after(std::int64_t milliseconds) {
    return {7 * second, stopped.wall + milliseconds};
}

TEST(bucket_snapshots, keep_the_debt_of_the_limit_that_was_charged) {
    std::vector<model::rate_limit> const limits = {{"a", 10, 100, 0}, {"b", 10, 100, 0}};
    auto const policy_of = [&](std::uint64_t first, std::uint64_t second) {
        return prepare(limits, std::array<std::uint8_t, 2>{1, 6},
                       std::array<std::uint64_t, 2>{first, second});
    };
    auto const source = table();
    EXPECT_TRUE(source->admit(5, policy_of(3, 8), stopped.mono, 10).admitted());
    auto const bytes = snapshot_of(*source, stopped);
    auto const remaining_of = [&](policy const& policy) {
        auto const target = table();
        EXPECT_EQ(restore(*target, restart_after(0), bytes, 8).value(), 1u);
        auto const decision = target->admit(5, policy, 7 * second, 0);
        return std::pair(decision.levels[0].remaining, decision.levels[1].remaining);
    };
    EXPECT_EQ(remaining_of(policy_of(3, 8)), std::pair(0u, 0u));
    EXPECT_EQ(remaining_of(policy_of(4, 8)), std::pair(10u, 0u)) << "another limit took the slot";
    EXPECT_EQ(remaining_of(policy_of(3, 9)), std::pair(0u, 10u));
    auto const foreign = restore(*table(), restart_after(0), bytes, 7);
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().message, "it belongs to another store");
}

// As version 1 of the program wrote it: one key with 4 of 10 tokens used.
TEST(bucket_snapshots, of_version_1_are_restored) {
    std::string bytes = "lkbucket";
    base::append(bytes, std::uint32_t{1});
    base::append(bytes, stopped.wall);
    base::append(bytes, model::id{5});
    base::append(bytes, std::uint8_t{1});
    base::append(bytes, std::int64_t{40 * second});
    base::append(bytes, model::id{0});
    base::append(bytes, std::uint64_t{1});
    base::append(bytes, base::mix(0, base::hash(bytes)));
    auto const target = table();
    EXPECT_EQ(restore(*target, restart_after(0), bytes).value(), 1u);
    EXPECT_EQ(target->admit(5, one_limit(10, 100), 7 * second, 0).levels[0].remaining, 6u);
}

TEST(bucket_snapshots, keep_the_debt_that_has_not_refilled) {
    auto const policy = one_limit(10, 100);
    auto const source = table();
    EXPECT_TRUE(source->admit(5, policy, stopped.mono, 10).admitted());
    auto const bytes = snapshot_of(*source, stopped);
    auto const target = table();
    EXPECT_EQ(restore(*target, restart_after(25'001), bytes).value(), 1u);
    EXPECT_EQ(target->admit(5, policy, 7 * second, 0).levels[0].remaining, 2u);
    EXPECT_EQ(target->admit(5, policy, 7 * second, 0).levels[0].full_in_seconds, 75u);
    EXPECT_FALSE(target->admit(5, policy, 7 * second, 3).admitted());
    EXPECT_TRUE(target->admit(5, policy, 7 * second, 2).admitted());
    EXPECT_EQ(target->admit(6, policy, 7 * second, 0).levels[0].remaining, 10u);
}

TEST(bucket_snapshots, never_refill_too_early) {
    auto const policy = one_limit(1000, 1);  // a token each millisecond
    auto const source = table();
    EXPECT_TRUE(source->admit(1, policy, stopped.mono, 1000).admitted());
    auto const bytes = snapshot_of(*source, stopped);
    auto const target = table();
    ASSERT_TRUE(restore(*target, restart_after(10), bytes));
    EXPECT_EQ(target->admit(1, policy, 7 * second, 0).levels[0].remaining, 9u);
}

TEST(bucket_snapshots, keep_every_slot_and_omit_full_buckets) {
    auto const source = table();
    for (std::uint8_t slot = 0; slot < 8; ++slot)
        EXPECT_TRUE(source->admit(9, one_limit(10, 100, slot), stopped.mono, slot + 1u).admitted());
    EXPECT_TRUE(source->admit(10, one_limit(1, 1), stopped.mono - 2 * second, 1).admitted());
    auto const bytes = snapshot_of(*source, stopped);
    auto const target = table();
    EXPECT_EQ(restore(*target, restart_after(1), bytes).value(), 1u);
    for (std::uint8_t slot = 0; slot < 8; ++slot)
        EXPECT_EQ(
            target->admit(9, one_limit(10, 100, slot), 7 * second, 0).levels[0].full_in_seconds,
            10u * (slot + 1u));
}

TEST(bucket_snapshots, do_not_refill_when_the_wall_clock_went_back) {
    auto const policy = one_limit(10, 100);
    auto const source = table();
    EXPECT_TRUE(source->admit(5, policy, stopped.mono, 10).admitted());
    auto const target = table();
    ASSERT_TRUE(restore(*target, restart_after(-3'600'000), snapshot_of(*source, stopped)));
    EXPECT_EQ(target->admit(5, policy, 7 * second, 0).levels[0].full_in_seconds, 100u);
}

TEST(bucket_snapshots, are_full_after_years) {
    auto const policy = one_limit(1, 31'536'000);
    auto const source = table();
    EXPECT_TRUE(source->admit(5, policy, stopped.mono, 1).admitted());
    auto const bytes = snapshot_of(*source, stopped);
    for (auto const years : {std::int64_t{2}, std::int64_t{200}}) {
        auto const target = table();
        ASSERT_TRUE(restore(*target, restart_after(years * 366 * 86'400'000), bytes));
        EXPECT_TRUE(target->admit(5, policy, 7 * second, 1).admitted());
    }
}

TEST(bucket_snapshots, of_many_keys_are_all_there) {
    constexpr std::uint64_t keys = 20'000;  // several parts
    auto const policy = one_limit(1'000'000, 1'000'000);
    auto const source = table(keys), target = table(keys);
    std::mt19937_64 random(1);
    std::vector<std::uint32_t> charged(keys);
    for (std::uint64_t key = 1; key < keys; ++key) {
        charged[key] = static_cast<std::uint32_t>(random() % 1000);
        ASSERT_TRUE(source->admit(static_cast<model::id>(key), policy, stopped.mono, charged[key])
                        .admitted());
    }
    auto const bytes = snapshot_of(*source, stopped);
    EXPECT_GT(bytes.size(), 3u * 64 * 1024);
    ASSERT_TRUE(restore(*target, restart_after(0), bytes));
    for (std::uint64_t key = 1; key < keys; ++key)
        ASSERT_EQ(target->admit(static_cast<model::id>(key), policy, 7 * second, 0)
                      .levels[0]
                      .full_in_seconds,
                  charged[key]);
    EXPECT_EQ(snapshot_of(*target, {7 * second, stopped.wall}), bytes);
}

TEST(bucket_snapshots, omit_keys_beyond_the_table) {
    auto const source = table(64), target = table(8);
    auto const policy = one_limit(10, 100);
    EXPECT_TRUE(source->admit(60, policy, stopped.mono, 1).admitted());
    EXPECT_TRUE(restore(*target, restart_after(0), snapshot_of(*source, stopped)));
}

TEST(bucket_snapshots, without_keys_are_valid) {
    EXPECT_EQ(restore_error(restart_after(0), snapshot_of(*table(), stopped)), "");
}

TEST(bucket_snapshots, that_are_damaged_restore_nothing) {
    auto const source = table();
    for (model::id key = 1; key < 60; ++key)
        EXPECT_TRUE(source->admit(key, one_limit(10, 100), stopped.mono, 3).admitted());
    auto const bytes = snapshot_of(*source, stopped);
    EXPECT_EQ(restore_error(restart_after(0), bytes), "");
    for (std::size_t size = 0; size < bytes.size(); ++size)
        ASSERT_NE(restore_error(restart_after(0), std::string_view(bytes).substr(0, size)), "")
            << size;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        ASSERT_NE(restore_error(restart_after(0), damaged), "") << i;
    }
    EXPECT_NE(restore_error(restart_after(0), bytes + '\0'), "");
}

// With valid checksums, as another program might write them.
TEST(bucket_snapshots, with_impossible_values_restore_nothing) {
    auto const source = table();
    EXPECT_TRUE(source->admit(5, one_limit(10, 100), stopped.mono, 10).admitted());
    auto const bytes = snapshot_of(*source, stopped);
    auto const content = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
    auto const with_checksum = [](std::string text) {
        base::append(text, base::mix(0, base::hash(text)));
        return text;
    };
    ASSERT_EQ(with_checksum(content), bytes);
    EXPECT_EQ(restore_error(restart_after(0), with_checksum(content + "x")),
              "its records are not whole");
    auto wrong_count = content;
    wrong_count.back() = 2;  // the number of keys
    EXPECT_EQ(restore_error(restart_after(0), with_checksum(wrong_count)),
              "its records are not whole");
    EXPECT_EQ(restore_error(restart_after(0), with_checksum(content.substr(0, content.size() - 8))),
              "its records are not whole");
    auto version = content;
    version[11] = 3;
    EXPECT_EQ(restore_error(restart_after(0), with_checksum(version)),
              "another version of the program wrote it");
    EXPECT_EQ(restore_error(restart_after(0), with_checksum("another" + content)),
              "it is something else");
    // A negative wall time counts as no time elapsed.
    auto const target = table();
    ASSERT_TRUE(restore(*target, restart_after(0), snapshot_of(*source, {stopped.mono, -1})));
    EXPECT_EQ(target->admit(5, one_limit(10, 100), 7 * second, 0).levels[0].full_in_seconds, 100u);
}

TEST(bucket_snapshots, stop_at_a_failed_write) {
    auto const source = table(20'000);
    for (model::id key = 1; key < 20'000; ++key)
        EXPECT_TRUE(source->admit(key, one_limit(10, 100), stopped.mono, 3).admitted());
    int parts = 0;
    EXPECT_FALSE(save(*source, stopped, [&](std::string_view) { return ++parts < 2; }));
    EXPECT_EQ(parts, 2);
}

}  // namespace
}  // namespace latchkey::limit
