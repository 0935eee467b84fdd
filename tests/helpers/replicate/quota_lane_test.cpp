// Tokens of shared limits in PostgreSQL: what the helper's transactions do to each other.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "fake_node.hpp"
#include "helpers/replicate/protocol/quota_grant.hpp"
#include "postgres.hpp"

namespace latchkey::replicate {
namespace {

using namespace protocol;

constexpr std::int64_t start = 1000 * base::second;
constexpr quota_rule minute{.interval_ns = base::second / 10, .burst = 600};
constexpr std::uint32_t usable = 600 - 600 / 32 - 1;

quota_want want(std::int64_t key, std::uint32_t tokens) {
    return {.key = key, .policy = 1, .tokens = tokens, .hold_ns = base::second, .rules = {minute}};
}

class quota_lane_test : public engine_test {
  protected:
    void SetUp() override {
        engine_test::SetUp();
        if (IsSkipped()) return;
        fake_node maker(conninfo_, {.name = "maker"});
        maker.init();
    }
    quota_answer send(fake_node& node, quota_ask ask) {
        auto const id = node.send(std::move(ask));
        return node.wait_for<quota_answer>({}, id);
    }
    void join(fake_node& node, std::uint64_t process = 1) {
        node.wait_for<ready>();
        EXPECT_TRUE(send(node, {.process = process}).is_member);
    }
    static node_options options(std::string name) {
        return {.name = std::move(name), .lease_ms = 1000};
    }
};

TEST_F(quota_lane_test, nodes_share_a_bucket) {
    fake_node one(conninfo_, options("one")), two(conninfo_, options("two"));
    join(one);
    join(two);
    auto answer = send(one, {.process = 1, .presence = 1, .clock = start, .wants = {want(7, 500)}});
    ASSERT_EQ(answer.grants.size(), 1u);
    EXPECT_EQ(answer.grants[0].tokens, 500u);
    EXPECT_EQ(answer.members.size(), 2u);
    answer = send(two, {.process = 1, .presence = 1, .clock = start, .wants = {want(7, 500)}});
    EXPECT_EQ(answer.clock, start);
    EXPECT_LT(answer.grants.at(0).tokens, usable - 500 + 1);
    EXPECT_GT(answer.grants.at(0).wait_ns, 0);
}

TEST_F(quota_lane_test, transactions_at_the_same_time_grant_nothing_twice) {
    fake_node one(conninfo_, options("one")), two(conninfo_, options("two"));
    join(one);
    join(two);
    std::array<std::uint64_t, 40> sums{};
    for (std::uint64_t round = 1; round <= 60; ++round) {
        quota_ask ask{.process = 1, .presence = round, .clock = start};
        for (std::int64_t key = 1; key <= 40; ++key) ask.wants.push_back(want(key, 9));
        auto const first = one.send(ask);
        std::ranges::reverse(ask.wants);
        auto const second = two.send(ask);
        for (auto const& answer :
             {one.wait_for<quota_answer>({}, first), two.wait_for<quota_answer>({}, second)}) {
            ASSERT_EQ(answer.grants.size(), 40u);
            for (auto const& each : answer.grants)
                sums[static_cast<std::size_t>(each.key) - 1] += each.tokens;
        }
    }
    for (auto const sum : sums) {
        EXPECT_LE(sum, usable);
        EXPECT_GE(sum, usable - 11);  // a second of refill is lost once
    }
}

TEST_F(quota_lane_test, shares_are_raised_one_after_another) {
    fake_node one(conninfo_, options("one")), two(conninfo_, options("two"));
    join(one);
    join(two);
    quota_ask const ask{.process = 1, .presence = 1, .clock = start, .share = quota_whole};
    auto const first = one.send(ask), second = two.send(ask);
    auto const left = one.wait_for<quota_answer>({}, first).share;
    auto const right = two.wait_for<quota_answer>({}, second).share;
    EXPECT_EQ(left + right, quota_whole);
    EXPECT_EQ(std::max(left, right), quota_whole);
}

TEST_F(quota_lane_test, a_member_that_is_silent_for_longer_than_a_lease_is_removed) {
    fake_node one(conninfo_, options("one"));
    {
        fake_node two(conninfo_, options("two"));
        join(two);
        EXPECT_EQ(send(two, {.process = 1, .presence = 1, .clock = start, .share = 500'000}).share,
                  500'000u);
    }
    join(one);
    std::uint64_t presence = 0;
    quota_answer answer;
    auto const deadline = base::read_mono() + 10 * base::second;
    do {
        answer =
            send(one, {.process = 1, .presence = ++presence, .clock = start, .share = quota_whole});
        ASSERT_LT(base::read_mono(), deadline);
    } while (answer.members.size() != 1);
    EXPECT_EQ(answer.share, quota_whole);
    EXPECT_GT(presence, 2u);
}

TEST_F(quota_lane_test, an_engine_that_is_away_is_told_at_once) {
    auto& server = postgres::shared();
    fake_node one(conninfo_, options("one"));
    join(one);
    server.stop_at_once();
    auto const ask = quota_ask{.process = 1, .presence = 1, .clock = start, .wants = {want(1, 1)}};
    one.wait_for<failed>({}, one.send(ask));
    auto const begin = base::read_mono();
    one.wait_for<failed>({}, one.send(ask));
    EXPECT_LT(base::read_mono() - begin, base::second);
    server.start();
    // A node asks again until it is answered.
    for (auto const deadline = base::read_mono() + 15 * base::second;;) {
        auto const answer = one.next(one.send(ask));
        if (std::holds_alternative<quota_answer>(answer)) break;
        ASSERT_LT(base::read_mono(), deadline);
        ::usleep(100'000);
    }
}

}  // namespace
}  // namespace latchkey::replicate
