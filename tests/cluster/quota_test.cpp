// A node's side, with an engine that answers at once: what is asked for and when, what a request
// meets, and that a key in use costs no allocation.
#include "cluster/quota.hpp"

#include <gtest/gtest.h>

#include "../limit/allocations.hpp"
#include "cluster/quota_purse.hpp"
#include "cluster/quota_times.hpp"

namespace latchkey::cluster {
namespace {

constexpr std::int64_t second = base::second, millisecond = base::millisecond;
constexpr model::id key = 7;

limit::policy policy_of(std::uint32_t limit, std::uint32_t window, std::uint32_t burst = 0) {
    std::vector<model::rate_limit> const limits = {{"a", limit, window, burst}};
    return limit::prepare(limits, std::array<std::uint8_t, 1>{0});
}

struct quota_test : ::testing::Test {
    int wakes = 0;
    std::unique_ptr<quota> node =
        quota::make({.node = "a", .process = 1, .keys = 64, .wake = [this] { ++wakes; }}).value();
    replicate::protocol::quota_rows rows;
    boot_ns now = 1000 * second;
    limit::policy const policy = policy_of(600, 60);

    // Sends what there is to send, and brings the answers.
    void exchange() {
        for (int i = 0; i < 5; ++i) {
            auto const question = node->next_ask(now);
            if (!question) return;
            answer(*question);
        }
    }
    void answer(quota::question const& question) {
        auto const answer =
            replicate::protocol::grant(rows, question.ask, "a", [](auto&) { return true; });
        now += millisecond;
        node->on_answer(question.id, answer, now);
    }
    quota_state admit(quota_ticket& ticket) {
        auto const verdict = node->admit(key, policy, now, 1, ticket);
        admitted = verdict.state == quota_state::decided && verdict.decision.admitted();
        decision = verdict.decision;
        return verdict.state;
    }
    quota_state admit() {
        quota_ticket ticket;
        return admit(ticket);
    }
    // For a while, requests at equal distances.
    int run(boot_ns duration, boot_ns gap) {
        int count = 0;
        auto const end = now + duration;
        for (auto next = now; now < end; now += millisecond) {
            for (; next <= now; next += gap) {
                quota_ticket ticket;
                if (admit(ticket) == quota_state::pending) {
                    exchange();
                    admit(ticket);
                    ++waits;
                }
                count += admitted;
            }
            exchange();
        }
        return count;
    }
    bool admitted = false;
    int waits = 0;
    limit::decision decision;
};

TEST_F(quota_test, the_first_use_of_a_key_waits_for_one_answer) {
    exchange();
    quota_ticket ticket;
    EXPECT_EQ(admit(ticket), quota_state::pending);
    EXPECT_EQ(wakes, 1);
    auto const question = node->next_ask(now);
    ASSERT_TRUE(question);
    ASSERT_EQ(question->ask.wants.size(), 1u);
    EXPECT_EQ(question->ask.wants[0].tokens, 1u);
    EXPECT_FALSE(node->next_ask(now));  // one at a time
    EXPECT_EQ(admit(ticket), quota_state::pending);
    answer(*question);
    EXPECT_EQ(admit(ticket), quota_state::decided);
    EXPECT_TRUE(admitted);
}

// The machine's clock was set back between two starts.
TEST_F(quota_test, an_earlier_process_with_a_higher_number_is_replaced) {
    rows.members["a"] = {.name = "a", .process = quota_process_step + 5};
    for (int tries = 0; tries < 3; ++tries, now += quota_retry) exchange();
    quota_ticket ticket;
    EXPECT_EQ(admit(ticket), quota_state::pending);
    exchange();
    EXPECT_EQ(admit(ticket), quota_state::decided);
    EXPECT_GT(rows.members["a"].process, quota_process_step + 5);
}

TEST_F(quota_test, a_request_that_tries_again_is_wanted_once) {
    exchange();
    quota_ticket ticket, other;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(admit(ticket), quota_state::pending);
    EXPECT_EQ(admit(other), quota_state::pending);
    auto const question = node->next_ask(now);
    ASSERT_TRUE(question);
    EXPECT_EQ(question->ask.wants.at(0).tokens, 2u);
}

TEST_F(quota_test, a_key_in_use_does_not_wait) {
    exchange();
    run(2 * second, 20 * millisecond);
    waits = 0;
    EXPECT_EQ(run(10 * second, 200 * millisecond), 50);
    EXPECT_EQ(waits, 0);
}

TEST_F(quota_test, sizes_follow_the_demand) {
    exchange();
    auto const busy = policy_of(100'000, 60);
    quota_ticket ticket;
    std::uint64_t asks = 0;
    for (int i = 0; i < 5000; ++i, now += millisecond) {
        while (node->admit(key, busy, now, 1, ticket).state == quota_state::pending) exchange();
        ticket = {};
        asks = node->count().asks;
        exchange();
    }
    EXPECT_LT(asks, 150u);  // heartbeats among them
    EXPECT_LT(node->count().forfeited, 250u);
}

TEST_F(quota_test, a_refusal_is_remembered) {
    exchange();
    do {
        run(millisecond, millisecond);
        quota_ticket ticket;
        admit(ticket);
    } while (admitted || decision.count == 0);
    auto const asks = node->count().asks;
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(admit(), quota_state::decided);
        EXPECT_FALSE(admitted);
        EXPECT_EQ(decision.violated, 1u);
        EXPECT_EQ(decision.retry_after, 1u);
        now += millisecond / 100;
    }
    EXPECT_EQ(node->count().asks, asks);
}

TEST_F(quota_test, waiting_is_bounded) {
    exchange();
    quota_ticket ticket;
    EXPECT_EQ(admit(ticket), quota_state::pending);
    now += quota_patience - 10 * millisecond;
    EXPECT_EQ(admit(ticket), quota_state::pending);
    now += 10 * millisecond;
    EXPECT_EQ(admit(ticket), quota_state::decided);  // of the share, which is empty yet
    EXPECT_FALSE(admitted);
}

TEST_F(quota_test, without_a_share_it_is_behind) {
    quota_ticket ticket;
    EXPECT_EQ(admit(ticket), quota_state::pending);
    now += quota_patience;
    EXPECT_EQ(admit(ticket), quota_state::behind);
}

TEST_F(quota_test, the_share_begins_empty_and_has_the_rate_of_its_part) {
    exchange();
    now += quota_heartbeat;
    exchange();  // the share is taken with the first ask after joining
    auto const cut = now;
    while (now < cut + quota_silence + 2 * millisecond) now += millisecond;
    int count = 0;
    for (auto const end = now + 60 * second; now < end; now += millisecond) {
        ASSERT_EQ(admit(), quota_state::decided);
        count += admitted;
    }
    EXPECT_NEAR(count, 600, 6);
    EXPECT_EQ(decision.levels[0].remaining, 0u);
}

TEST_F(quota_test, the_share_is_left_before_an_ask) {
    exchange();
    now += quota_heartbeat;
    exchange();
    now += 3 * second;
    EXPECT_EQ(admit(), quota_state::decided);
    exchange();  // joins again, reads, and asks
    now += millisecond;
    quota_ticket ticket;
    EXPECT_EQ(admit(ticket), quota_state::pending);
}

TEST_F(quota_test, a_lost_ask_is_followed_by_a_mere_question) {
    exchange();
    now += quota_heartbeat;
    auto const question = node->next_ask(now);
    ASSERT_TRUE(question && question->ask.presence != 0);
    node->on_lost(question->id, now);
    now += quota_retry;
    auto const next = node->next_ask(now);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->ask.presence, 0u);
    now += millisecond;
    node->on_answer(question->id, {}, now);  // of the lost one
    answer(*next);
    auto const again = node->next_ask(now);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->ask.presence, question->ask.presence);
}

TEST_F(quota_test, nothing_is_admitted_after_the_lease_and_it_begins_anew) {
    node->hold_lease(now + second, now);
    exchange();
    now += second;
    EXPECT_EQ(admit(), quota_state::behind);
    node->hold_lease(now + second, now);
    auto const question = node->next_ask(now);
    ASSERT_TRUE(question);
    EXPECT_EQ(question->ask.process, 2u);
}

TEST_F(quota_test, another_setting_forfeits_what_was_granted) {
    exchange();
    run(second, 10 * millisecond);
    auto const other = policy_of(1200, 60);
    quota_ticket ticket;
    EXPECT_EQ(node->admit(key, other, now, 1, ticket).state, quota_state::pending);
    exchange();
    EXPECT_EQ(node->admit(key, other, now, 1, ticket).state, quota_state::decided);
    EXPECT_EQ(admit(), quota_state::pending);
}

TEST_F(quota_test, tokens_end_with_the_time_for_which_they_were_charged) {
    exchange();
    quota_ticket first, second, third;
    ASSERT_EQ(admit(first), quota_state::pending);
    ASSERT_EQ(admit(second), quota_state::pending);
    ASSERT_EQ(admit(third), quota_state::pending);
    auto const start = now;
    exchange();
    ASSERT_EQ(admit(first), quota_state::decided);
    // The end is rounded down, by less than a tenth of a millisecond.
    now = start + quota_window_max - millisecond / 10;
    EXPECT_EQ(admit(second), quota_state::decided);
    EXPECT_TRUE(admitted);
    now = start + quota_window_max + 1;
    EXPECT_FALSE(admit(third) == quota_state::decided && admitted);
}

TEST_F(quota_test, an_unlimited_key_and_a_cost_beyond_the_burst_need_no_engine) {
    quota_ticket ticket;
    EXPECT_TRUE(node->admit(key, {}, now, 1, ticket).decision.admitted());
    auto const verdict = node->admit(key, policy, now, 601, ticket);
    EXPECT_EQ(verdict.state, quota_state::decided);
    EXPECT_EQ(verdict.decision.retry_after, limit::decision::never);
    EXPECT_FALSE(node->admit(64, policy, now, 1, ticket).decision.admitted());
}

TEST_F(quota_test, levels_are_those_of_the_engine_and_the_own_tokens) {
    exchange();
    quota_ticket ticket;
    ASSERT_EQ(admit(ticket), quota_state::pending);
    exchange();
    ASSERT_EQ(admit(ticket), quota_state::decided);
    EXPECT_LE(decision.levels[0].remaining, 599u);
    EXPECT_GE(decision.levels[0].remaining, 580u);
    EXPECT_GE(decision.levels[0].full_in_seconds, 1u);
}

TEST_F(quota_test, an_idle_key_is_forgotten) {
    exchange();
    run(second, 10 * millisecond);
    for (auto const end = now + 60 * second; now < end; now += 10 * millisecond) exchange();
    auto const asks = node->count().granted;
    now += 100 * millisecond;
    exchange();
    EXPECT_EQ(node->count().granted, asks);
    EXPECT_EQ(admit(), quota_state::pending);
}

TEST_F(quota_test, a_key_in_use_allocates_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP() << "a sanitizer counts in our place";
    exchange();
    run(2 * second, millisecond * 20);
    exchange();
    auto const allocations = test::allocations();
    for (int i = 0; i < 3; ++i) admit();
    EXPECT_EQ(test::allocations(), allocations);
}

TEST_F(quota_test, a_purse_takes_a_batch_of_a_hot_key) {
    exchange();
    auto const fast = policy_of(1'000'000, 10);
    quota_purse purse(*node);
    auto const charge = [&] {
        quota_ticket ticket;
        while (purse.admit(key, fast, now, 1, ticket).state == quota_state::pending) exchange();
    };
    for (int i = 0; i < 200; ++i, now += 10 * millisecond)
        for (int each = 0; each < 300; ++each) charge();
    auto const end = node->take(key, fast, now, 1);
    EXPECT_NE(end, 0);
    EXPECT_LT(node->count().forfeited, node->count().granted / 3);
}

}  // namespace
}  // namespace latchkey::cluster
