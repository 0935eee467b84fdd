// What the engine grants, bucket by bucket.
#include "helpers/replicate/protocol/quota_grant.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/time_units.hpp"

namespace latchkey::replicate::protocol {
namespace {

constexpr std::int64_t second = base::second;
constexpr cluster_ns start = 1000 * second;
constexpr std::int64_t hold = 2 * second;

// 10 tokens per second.
constexpr quota_rule minute{.slot = 0, .generation = 0, .interval_ns = second / 10, .burst = 600};
constexpr std::int64_t interval = quota_interval(minute.interval_ns);
constexpr std::uint32_t usable = 600 - 600 / 32 - 1;  // without the part of the shares

struct quota_grant_test : ::testing::Test {
    quota_rows rows;
    std::set<std::string, std::less<>> dead;
    std::uint64_t presence = 0;

    quota_answer send(quota_ask ask, std::string_view node = "a") {
        return grant(rows, ask, node,
                     [&](quota_member const& member) { return !dead.contains(member.name); });
    }
    void join(std::string_view node, std::uint64_t process = 1) {
        ASSERT_TRUE(send({.process = process}, node).is_member);
    }
    quota_grant want(std::uint32_t tokens, cluster_ns now = start, quota_rule rule = minute,
                     std::uint32_t reserve = 0) {
        auto const answer = send({.process = 1,
                                  .presence = ++presence,
                                  .clock = now,
                                  .reserve = reserve,
                                  .wants = {{5, 6, tokens, hold, {rule}, {}}}});
        return answer.grants.at(0);
    }
    void SetUp() override { join("a"); }
};

TEST_F(quota_grant_test, a_full_bucket_gives_its_burst_but_the_part_of_the_shares) {
    EXPECT_EQ(want(10'000).tokens, usable);
    auto const refusal = want(1);
    EXPECT_EQ(refusal.tokens, 0u);
    EXPECT_GT(refusal.wait_ns, 0);
    EXPECT_EQ(want(1, start + refusal.wait_ns - 1).tokens, 0u);
    EXPECT_EQ(want(1, start + refusal.wait_ns).tokens, 1u);
}

// The key that a rotation made: its first grant finds what its predecessor has left, once.
TEST_F(quota_grant_test, a_successor_begins_with_the_level_of_its_predecessor) {
    EXPECT_EQ(want(400).tokens, 400u);
    auto const successor = [&](std::uint32_t tokens) {
        return send({.process = 1,
                     .presence = ++presence,
                     .clock = start,
                     .wants = {{9, 6, tokens, hold, {minute}, {{0, 5, 0, 0}, {0, 4, 0, 0}}}}})
            .grants.at(0)
            .tokens;
    };
    EXPECT_EQ(successor(usable), usable - 400 - hold / interval - 1);
    EXPECT_EQ(want(50).tokens, 50u);
    EXPECT_EQ(successor(1), 0u);
    rows.buckets[{9, 0, 0}].arrival = start - second;
    EXPECT_EQ(successor(usable), usable);
}

TEST_F(quota_grant_test, an_ask_has_each_bucket_once) {
    quota_ask const ask{
        .wants = {{5, 6, 1, hold, {minute}, {}}, {9, 6, 1, hold, {minute}, {{0, 5, 0, 0}}}}};
    EXPECT_EQ(buckets_of(ask), (std::vector<quota_bucket>{{5, 0, 0}, {9, 0, 0}}));
}

TEST_F(quota_grant_test, tokens_are_charged_as_if_spent_at_the_end_of_their_time) {
    auto const first = want(5);
    EXPECT_EQ(first.arrivals.at(0), start + hold + 5 * interval);
    EXPECT_EQ(first.wait_ns, 0);
    EXPECT_EQ(want(5).arrivals.at(0), start + hold + 10 * interval);  // that time is lost once
}

TEST_F(quota_grant_test, a_bucket_of_one_token_gives_it_again_and_again) {
    quota_rule const one{.interval_ns = 10 * second, .burst = 1};
    EXPECT_EQ(want(3, start, one).tokens, 1u);
    auto const refusal = want(1, start, one);
    EXPECT_EQ(refusal.wait_ns, hold + quota_interval(one.interval_ns));
    EXPECT_EQ(want(1, start + refusal.wait_ns, one).tokens, 1u);
}

TEST_F(quota_grant_test, all_limits_give_the_same_number) {
    quota_rule const hour{.slot = 3, .generation = 9, .interval_ns = 100 * second, .burst = 7};
    auto answer = send({.process = 1,
                        .presence = 1,
                        .clock = start,
                        .wants = {{5, 6, 100, hold, {minute, hour}}}});
    EXPECT_EQ(answer.grants.at(0).tokens, 7u);
    EXPECT_EQ(rows.buckets.at({5, 0, 0}).arrival, start + hold + 7 * interval);
    answer = send(
        {.process = 1, .presence = 2, .clock = start, .wants = {{5, 6, 1, hold, {minute, hour}}}});
    EXPECT_EQ(answer.grants.at(0).tokens, 0u);
    EXPECT_EQ(rows.buckets.at({5, 0, 0}).arrival, start + hold + 7 * interval);  // none is charged
}

TEST_F(quota_grant_test, a_later_generation_has_a_bucket_of_its_own) {
    want(10'000);
    auto next = minute;
    next.generation = 1;
    EXPECT_EQ(want(10'000, start, next).tokens, usable);
}

TEST_F(quota_grant_test, a_debt_of_a_slower_setting_is_lowered) {
    quota_rule slow = minute;
    slow.interval_ns = 1000 * second;
    want(10'000, start, slow);
    EXPECT_EQ(want(1).tokens, 0u);
    auto const full = 600 * interval + quota_skew_max_ns;
    EXPECT_EQ(rows.buckets.at({5, 0, 0}).arrival, start + full);
    EXPECT_EQ(want(10'000, start + full).tokens, usable);
}

TEST_F(quota_grant_test, an_ask_that_arrives_late_lowers_nothing) {
    want(300, start + 60 * second);
    auto const level = rows.buckets.at({5, 0, 0});
    EXPECT_EQ(want(1000, start).tokens, 0u);
    EXPECT_EQ(rows.buckets.at({5, 0, 0}), level);
}

TEST_F(quota_grant_test, what_is_kept_for_silent_members_makes_tokens_dearer) {
    EXPECT_EQ(want(10'000, start, minute, quota_whole / 2).tokens, usable / 2);
    auto const none = want(1, start + 600 * second, minute, quota_whole);
    EXPECT_EQ(none.tokens, 0u);
    EXPECT_GT(none.wait_ns, 0);
}

TEST_F(quota_grant_test, shares_never_exceed_the_whole) {
    auto const share = [&](std::string_view node, std::uint64_t number, std::uint32_t goal) {
        return send({.process = 1, .presence = number, .clock = start, .share = goal}, node).share;
    };
    join("b");
    EXPECT_EQ(share("a", 1, quota_whole), quota_whole);
    EXPECT_EQ(share("b", 1, quota_whole / 2), 0u);
    EXPECT_EQ(share("a", 2, quota_whole / 2), quota_whole / 2);
    EXPECT_EQ(share("b", 2, quota_whole / 2), quota_whole / 2);
    EXPECT_EQ(share("b", 3, quota_whole), quota_whole / 2);
    dead.insert("b");
    EXPECT_EQ(share("a", 3, quota_whole), quota_whole);
    EXPECT_EQ(rows.members.size(), 1u);
    dead.clear();
    EXPECT_FALSE(send({.process = 1, .presence = 4}, "b").is_member);
}

TEST_F(quota_grant_test, late_asks_of_a_member_undo_nothing) {
    send({.process = 1, .presence = 7, .clock = start, .share = 500});
    auto const answer = send({.process = 1,
                              .presence = 6,
                              .clock = start,
                              .share = 900,
                              .wants = {{5, 6, 1, hold, {minute}}}});
    EXPECT_TRUE(answer.is_member);
    EXPECT_EQ(answer.share, 500u);
    EXPECT_TRUE(answer.grants.empty());
    EXPECT_EQ(rows.members.at("a").presence, 7u);
}

TEST_F(quota_grant_test, a_later_process_takes_the_place_of_an_earlier_one) {
    send({.process = 1, .presence = 1, .clock = start, .share = 500});
    join("a", 2);
    EXPECT_EQ(rows.members.at("a").share, 0u);
    EXPECT_FALSE(send({.process = 1}, "a").is_member);
    EXPECT_FALSE(send({.process = 1, .presence = 2}, "a").is_member);
}

TEST_F(quota_grant_test, the_clock_outlives_members) {
    send({.process = 1, .presence = 1, .clock = start});
    dead.insert("a");
    auto const answer = send({.process = 1}, "b");
    EXPECT_EQ(answer.clock, start);
    EXPECT_EQ(answer.members.size(), 1u);
    EXPECT_EQ(answer.members.at(0).clock, start);
}

TEST_F(quota_grant_test, the_slowest_limit_of_the_model_fits_its_integers) {
    quota_rule const slow{.interval_ns = 31'536'000 * second, .burst = 126};
    EXPECT_GT(want(1000, start, slow).tokens, 0u);
    EXPECT_EQ(want(1000, start, slow, quota_whole - 1).tokens, 0u);
    quota_rule const fast{.slot = 1, .interval_ns = 1, .burst = 1'000'000'000};
    EXPECT_GT(want(1'000'000'000, start, fast).tokens, 900'000'000u);
}

}  // namespace
}  // namespace latchkey::replicate::protocol
