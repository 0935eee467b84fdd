#include "limit/buckets.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "allocations.hpp"

namespace latchkey::limit {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t start = 1'000'000 * second;

policy prepared(std::vector<model::rate_limit> const& limits) {
    std::vector<std::uint8_t> slots;
    for (std::size_t i = 0; i < limits.size(); ++i) slots.push_back(static_cast<std::uint8_t>(i));
    return prepare(limits, slots);
}

std::string header(policy const& policy, decision const& decision) {
    std::string text;
    {
        base::string_writer out(text, policy.levels_bytes_max);
        put_levels(policy, decision, out);
    }
    return text;
}

struct buckets_test : ::testing::Test {
    std::unique_ptr<buckets> table = buckets::make(1024).value();

    decision admit(policy const& policy, base::mono_ns now, std::uint32_t cost = 1) {
        return table->admit(1, policy, now, cost);
    }
};

TEST(policies, have_the_header_of_the_contract) {
    EXPECT_EQ(prepared(model::default_rate_limits()).header,
              "\"minute\";q=600;w=60, \"hour\";q=20000;w=3600");
    EXPECT_EQ(prepared({}).header, "");
    EXPECT_EQ(prepared({{.name = "a", .limit = 10, .window_seconds = 1, .burst = 50}}).header,
              "\"a\";q=10;w=1;latchkey-burst=50");
}

TEST(policies, round_the_interval_up) {
    auto const policy = prepared({{.name = "a", .limit = 3, .window_seconds = 1}});
    EXPECT_EQ(policy.rules[0].interval_ns, 333'333'334);
    EXPECT_EQ(policy.rules[0].capacity_ns, 3 * 333'333'334);
    EXPECT_EQ(policy.rules[0].burst, 3u);
}

TEST(policies, charge_in_the_order_of_slots) {
    std::vector<model::rate_limit> const limits = {{"a", 1, 1, 0}, {"b", 1, 1, 0}, {"c", 1, 1, 0}};
    std::array<std::uint8_t, 3> const slots = {7, 0, 3};
    auto const policy = prepare(limits, slots);
    EXPECT_EQ(policy.rules[0].slot, 7);
    EXPECT_EQ(policy.by_slot[0], 1);
    EXPECT_EQ(policy.by_slot[1], 2);
    EXPECT_EQ(policy.by_slot[2], 0);
}

TEST(policies, hold_no_more_than_refills_in_126_years) {
    auto const policy =
        prepared({{.name = "a", .limit = 1, .window_seconds = 31'536'000, .burst = 1'000'000'000}});
    EXPECT_EQ(policy.rules[0].burst, 126u);
    EXPECT_LE(policy.rules[0].capacity_ns, refill_max_ns);
}

TEST_F(buckets_test, admits_the_burst_then_one_per_interval) {
    auto const policy = prepared({{.name = "a", .limit = 10, .window_seconds = 1, .burst = 5}});
    for (std::uint32_t left = 5; left-- > 0;) {
        auto const decision = admit(policy, start);
        ASSERT_TRUE(decision.admitted());
        EXPECT_EQ(decision.levels[0].remaining, left);
        EXPECT_EQ(decision.retry_after, 0u);
    }
    EXPECT_FALSE(admit(policy, start).admitted());
    EXPECT_FALSE(admit(policy, start + second / 10 - 1).admitted());
    EXPECT_TRUE(admit(policy, start + second / 10).admitted());
    EXPECT_FALSE(admit(policy, start + second / 10).admitted());
    EXPECT_EQ(admit(policy, start + 10 * second).levels[0].remaining, 4u);
}

TEST_F(buckets_test, reports_what_is_left) {
    auto const policy = prepared(model::default_rate_limits());
    EXPECT_EQ(header(policy, admit(policy, start, 0)),
              "\"minute\";r=600;t=60, \"hour\";r=20000;t=3600");
    EXPECT_EQ(header(policy, admit(policy, start)),
              "\"minute\";r=599;t=60, \"hour\";r=19999;t=3600");
    EXPECT_EQ(header(policy, admit(policy, start, 599)),
              "\"minute\";r=0;t=1, \"hour\";r=19400;t=3492");
    auto const refusal = admit(policy, start);
    EXPECT_EQ(refusal.violated, 1);
    EXPECT_EQ(refusal.retry_after, 1u);
    EXPECT_EQ(header(policy, refusal), "\"minute\";r=0;t=1, \"hour\";r=19400;t=3492");
}

TEST_F(buckets_test, charges_none_when_one_refuses) {
    auto const policy =
        prepared({{"wide", 100, 60, 0}, {"narrow", 2, 60, 0}, {"other", 50, 60, 0}});
    EXPECT_TRUE(admit(policy, start, 2).admitted());
    for (int i = 0; i < 10; ++i) {
        auto const refusal = admit(policy, start);
        EXPECT_EQ(refusal.violated, 2);
        EXPECT_EQ(refusal.levels[0].remaining, 98u);
        EXPECT_EQ(refusal.levels[1].remaining, 0u);
        EXPECT_EQ(refusal.levels[2].remaining, 48u);
        EXPECT_EQ(refusal.retry_after, 30u);
    }
    EXPECT_EQ(admit(policy, start, 99).violated, 1 | 2 | 4);
}

// A lost race without threads: two limits share one bucket, so that the charge of the first takes
// the tokens that the second has read, as another worker would.
TEST_F(buckets_test, retry_after_includes_the_charges_of_a_lost_race) {
    std::vector<model::rate_limit> const limits = {{"fast", 2, 120, 0}, {"slow", 1, 100, 0}};
    auto policy = prepare(limits, std::array<std::uint8_t, 2>{1, 0});
    policy.rules[0].slot = policy.rules[1].slot;
    auto const refusal = admit(policy, start);
    EXPECT_EQ(refusal.violated, 1) << "the lower slot is charged first";
    EXPECT_EQ(refusal.levels[1].remaining, 0u);
    // With the wait of "fast" alone the client would come back after 40 seconds and be refused by
    // "slow".
    EXPECT_EQ(refusal.retry_after, 100u);
}

TEST_F(buckets_test, reads_without_charging) {
    auto const policy = prepared({{.name = "a", .limit = 1, .window_seconds = 60}});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(admit(policy, start, 0).levels[0].remaining, 1u);
    EXPECT_TRUE(admit(policy, start).admitted());
    auto const empty = admit(policy, start, 0);
    EXPECT_TRUE(empty.admitted());
    EXPECT_EQ(empty.levels[0].remaining, 0u);
    EXPECT_EQ(empty.levels[0].full_in_seconds, 60u);
    EXPECT_EQ(empty.retry_after, 0u);
}

TEST_F(buckets_test, admits_an_unlimited_key_always) {
    auto const decision = admit(prepared({}), start, 1'000'000);
    EXPECT_TRUE(decision.admitted());
    EXPECT_EQ(decision.count, 0);
    EXPECT_EQ(header(prepared({}), decision), "");
}

TEST_F(buckets_test, never_admits_more_than_a_bucket_holds) {
    auto const policy = prepared({{"a", 10, 1, 0}, {"b", 100, 1, 0}});
    auto const decision = admit(policy, start, 11);
    EXPECT_EQ(decision.violated, 1);
    EXPECT_EQ(decision.retry_after, decision::never);
    EXPECT_FALSE(admit(policy, start, 4'000'000'000).admitted());
    EXPECT_TRUE(admit(policy, start, 10).admitted());
}

TEST_F(buckets_test, refuses_a_key_without_a_line) {
    auto const policy = prepared({{"a", 10, 1, 0}, {"b", 100, 1, 0}});
    EXPECT_TRUE(table->admit(1023, policy, start, 1).admitted());
    for (model::id const id : {std::int64_t{1024}, (std::int64_t{1} << 53) - 1}) {
        auto const decision = table->admit(id, policy, start, 1);
        EXPECT_EQ(decision.violated, 3);
        EXPECT_EQ(decision.retry_after, decision::never);
        EXPECT_TRUE(table->admit(id, prepared({}), start, 1).admitted());
    }
}

TEST_F(buckets_test, keeps_keys_apart) {
    auto const policy = prepared({{.name = "a", .limit = 1, .window_seconds = 60}});
    for (model::id id = 1; id < 1024; ++id) {
        EXPECT_TRUE(table->admit(id, policy, start, 1).admitted());
        EXPECT_FALSE(table->admit(id, policy, start, 1).admitted());
    }
}

TEST_F(buckets_test, a_faster_setting_holds_from_the_first_read) {
    auto const slow = prepared({{.name = "a", .limit = 10, .window_seconds = 31'536'000}});
    auto const fast = prepared({{.name = "a", .limit = 10, .window_seconds = 10}});
    EXPECT_TRUE(admit(slow, start, 10).admitted());
    auto const refusal = admit(fast, start);
    EXPECT_FALSE(refusal.admitted());
    EXPECT_EQ(refusal.retry_after, 2u);  // the second of one token, and skew_max_ns
    EXPECT_EQ(refusal.levels[0].full_in_seconds, 11u);
    EXPECT_FALSE(admit(fast, start + second).admitted());
    EXPECT_TRUE(admit(fast, start + second + skew_max_ns).admitted());
    EXPECT_EQ(admit(fast, start + 10 * second + skew_max_ns, 0).levels[0].remaining, 9u);
}

TEST_F(buckets_test, a_worker_that_lags_behind_releases_no_tokens_again) {
    auto const policy = prepared({{.name = "a", .limit = 1000, .window_seconds = 1}});
    EXPECT_TRUE(admit(policy, start, 1000).admitted());
    for (auto const late : {second / 5, second, 1000 * second}) {
        EXPECT_FALSE(admit(policy, start - late).admitted());
        EXPECT_EQ(admit(policy, start, 0).levels[0].remaining, 0u);
    }
    EXPECT_FALSE(admit(policy, start).admitted());
}

TEST_F(buckets_test, a_slower_setting_keeps_what_was_spent) {
    auto const fast = prepared({{.name = "a", .limit = 10, .window_seconds = 10}});
    auto const slow = prepared({{.name = "a", .limit = 10, .window_seconds = 1000}});
    EXPECT_TRUE(admit(fast, start, 10).admitted());
    EXPECT_EQ(admit(slow, start, 0).levels[0].remaining, 9u);
    EXPECT_EQ(admit(slow, start, 0).levels[0].full_in_seconds, 10u);
}

TEST_F(buckets_test, a_limit_keeps_its_bucket_with_its_slot) {
    std::vector<model::rate_limit> const both = {{"a", 5, 60, 0}, {"b", 7, 60, 0}};
    std::array<std::uint8_t, 2> const slots_before = {0, 1};
    EXPECT_TRUE(admit(prepare(both, slots_before), start, 5).admitted());
    std::vector<model::rate_limit> const changes = {{"b", 7, 60, 0}, {"c", 5, 60, 0}};
    std::array<std::uint8_t, 2> const slots_after = {1, 2};
    auto const decision = admit(prepare(changes, slots_after), start, 0);
    EXPECT_EQ(decision.levels[0].remaining, 2u);
    EXPECT_EQ(decision.levels[1].remaining, 5u);
}

policy of_generation(std::uint64_t generation, model::rate_limit const& limit,
                     std::uint8_t slot = 0) {
    return prepare(std::span(&limit, 1), std::span(&slot, 1), std::span(&generation, 1));
}

TEST_F(buckets_test, a_new_limit_does_not_inherit_the_debt_of_its_slot) {
    for (std::uint8_t const slot : {0, 3, 4, 7}) {
        auto const removed = of_generation(0, {"day", 3, 86'400, 0}, slot);
        auto const added = of_generation(9, {"hour", 5, 3600, 0}, slot);
        EXPECT_TRUE(admit(removed, start, 3).admitted());
        EXPECT_FALSE(admit(removed, start).admitted());
        EXPECT_EQ(admit(added, start, 0).levels[0].remaining, 5u);
        EXPECT_TRUE(admit(added, start, 2).admitted());
        EXPECT_EQ(admit(added, start, 0).levels[0].remaining, 3u);
        // A worker that still has only the old limit: it restricts no request and charges no
        // bucket.
        for (int i = 0; i < 10; ++i) EXPECT_TRUE(admit(removed, start, 3).admitted());
        EXPECT_FALSE(admit(removed, start, 4).admitted()) << "more than its burst";
        EXPECT_EQ(admit(added, start, 0).levels[0].remaining, 3u);
        EXPECT_FALSE(admit(added, start, 4).admitted());
        EXPECT_TRUE(admit(added, start, 3).admitted());
        EXPECT_FALSE(admit(added, start).admitted());
    }
}

// Workers get a new limit one after the other, some while others charge the old one.
TEST_F(buckets_test, a_slot_changes_hands_under_load_exactly) {
    constexpr std::uint32_t tokens = 500;
    for (std::uint64_t generation = 1; generation <= 200; ++generation) {
        auto const removed = of_generation(generation - 1, {"a", 1'000'000, 1'000'000, 0});
        auto const added = of_generation(generation, {"b", tokens, 1'000'000, 0});
        std::atomic<std::uint32_t> admitted{0};
        std::atomic<int> ready{0};
        auto const work = [&](int old_charges) {
            ready.fetch_add(1);
            while (ready.load() < 3) {
            }
            for (int i = 0; i < 600; ++i)
                if (i < old_charges)
                    (void)table->admit(1, removed, start, 1);
                else if (table->admit(1, added, start, 1).admitted())
                    admitted.fetch_add(1);
        };
        std::thread first(work, 100), second(work, 250);
        work(180);
        first.join();
        second.join();
        ASSERT_EQ(admitted, tokens) << generation;
    }
}

TEST_F(buckets_test, holds_at_the_bounds_of_the_model) {
    model::id id = 1;
    for (std::uint32_t const limit : {1u, 7u, 1'000'000'000u})
        for (std::uint32_t const window : {1u, 60u, 31'536'000u})
            for (std::uint32_t const burst : {0u, 1u, 1'000'000'000u})
                for (std::int64_t const now :
                     {std::int64_t{0}, start, 30 * 365 * 86'400 * second}) {
                    auto const policy = prepared({{"a", limit, window, burst}});
                    auto const& one = policy.rules[0];
                    auto const all = table->admit(id, policy, now, one.burst);
                    ASSERT_TRUE(all.admitted());
                    EXPECT_EQ(all.levels[0].remaining, 0u);
                    auto const refusal = table->admit(id, policy, now, 1);
                    ASSERT_FALSE(refusal.admitted());
                    std::int64_t const later = now + refusal.retry_after * second;
                    EXPECT_TRUE(table->admit(id, policy, later, 1).admitted());
                    EXPECT_FALSE(table->admit(id, policy, now, 4'294'967'295u).admitted());
                    ++id;
                }
}

TEST_F(buckets_test, allocates_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    auto const policy = prepared(model::default_rate_limits());
    std::string text;
    text.reserve(256);
    auto const allocations_before = test::allocations();
    for (int i = 0; i < 1000; ++i) {
        text.clear();
        base::string_writer out(text, policy.levels_bytes_max);
        put_levels(policy, admit(policy, start + i), out);
    }
    EXPECT_EQ(test::allocations(), allocations_before);
    EXPECT_FALSE(admit(policy, start).admitted());
}

TEST(tables, reserve_more_than_they_use) {
    auto const table = buckets::make().value();
    auto const policy = prepared({{.name = "a", .limit = 1, .window_seconds = 60}});
    auto const last = static_cast<model::id>(buckets::keys_max - 1);
    EXPECT_TRUE(table->admit(last, policy, start, 1).admitted());
    EXPECT_FALSE(table->admit(last, policy, start, 1).admitted());
}

}  // namespace
}  // namespace latchkey::limit
