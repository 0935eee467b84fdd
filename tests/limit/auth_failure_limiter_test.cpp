#include "limit/auth_failure_limiter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "allocations.hpp"

namespace latchkey::limit {
namespace {

constexpr base::mono_ns second = 1'000'000'000;

model::address address(std::string const& text) {
    return model::address::parse(text).value();
}

struct failures_test : ::testing::Test {
    std::unique_ptr<auth_failure_limiter> table = std::make_unique<auth_failure_limiter>(30, 4711);
    base::mono_ns now = 100 * second;
    model::address client = address("192.0.2.1");

    std::uint32_t fail() { return table->count(client, now); }
    // Failures that are all within the limit (401).
    void fail_freely(int times) {
        for (int i = 0; i < times; ++i) ASSERT_EQ(fail(), 0u) << i;
    }
    // Reaches the limit and returns the result of the failure beyond it.
    std::uint32_t hit() {
        fail_freely(30);
        return fail();
    }
};

TEST_F(failures_test, refuses_the_one_after_thirty_for_a_minute) {
    EXPECT_EQ(hit(), 60u);
    now += second;
    EXPECT_EQ(fail(), 59u);
    now += 58 * second;
    EXPECT_EQ(fail(), 1u);
    now += second;
    EXPECT_EQ(fail(), 0u);
}

TEST_F(failures_test, resumes_a_refused_address_a_thousand_times_a_second) {
    auto const other = address("192.0.2.2");
    ASSERT_NE(table->word_of(client) % 4096, table->word_of(other) % 4096);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(table->resume_at(client, now), now);
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(table->resume_at(client, now), now + i * auth_failure_limiter::refusal_gap);
    // A bound for any number of waiting connections.
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(table->resume_at(client, now), now + auth_failure_limiter::refusal_wait_max);
    EXPECT_EQ(table->resume_at(other, now), now);
    now += 2 * auth_failure_limiter::refusal_wait_max;
    for (int i = 0; i < 200; ++i, now += auth_failure_limiter::refusal_gap)
        EXPECT_EQ(table->resume_at(client, now), now) << "a slower client never waits";
}

TEST_F(failures_test, obeying_retry_after_is_enough) {
    for (base::mono_ns const offset : {0, 1, 62'499'999, 62'500'000, 999'999'999}) {
        table = std::make_unique<auth_failure_limiter>(30, 4711);
        now = 100 * second + offset;
        auto const wait = hit();
        EXPECT_EQ(wait, 60u) << offset;
        now += wait * second;
        EXPECT_EQ(fail(), 0u) << offset;
    }
}

TEST_F(failures_test, allows_thirty_in_every_minute) {
    for (int minute = 0; minute < 20; ++minute) {
        fail_freely(30);
        now += 60 * second;
    }
    for (int i = 0; i < 2000; ++i) {
        fail_freely(1);
        now += 60 * second / 30;
    }
}

TEST_F(failures_test, doubles_the_time_up_to_900_seconds) {
    for (std::uint32_t const expected : {60u, 120u, 240u, 480u, 900u, 900u, 900u}) {
        EXPECT_EQ(hit(), expected);
        now += (expected - 1) * second;
        // a failure at the end: otherwise the last pauses would reset the count of hits
        EXPECT_EQ(fail(), 1u);
        now += second;
    }
}

TEST_F(failures_test, failing_while_refused_does_not_prolong_it) {
    EXPECT_EQ(hit(), 60u);
    for (std::uint32_t left = 60; left-- > 1;) {
        now += second;
        for (int i = 0; i < 100; ++i) ASSERT_EQ(fail(), left);
    }
    now += second;
    EXPECT_EQ(hit(), 120u);
}

TEST_F(failures_test, forgets_after_900_quiet_seconds) {
    EXPECT_EQ(hit(), 60u);
    now += 900 * second;
    EXPECT_EQ(hit(), 60u);
    now += 899 * second;
    EXPECT_EQ(hit(), 120u);
    now += 120 * second;
    EXPECT_EQ(hit(), 240u);
}

TEST_F(failures_test, a_failure_breaks_the_quiet) {
    EXPECT_EQ(hit(), 60u);
    for (int i = 0; i < 5; ++i) {
        now += 800 * second;
        fail_freely(1);
    }
    now += 800 * second;
    EXPECT_EQ(hit(), 120u);
}

TEST_F(failures_test, quiet_is_counted_from_the_last_failure_of_a_refusal) {
    for (std::uint32_t const expected : {60u, 120u, 240u, 480u, 900u}) {
        EXPECT_EQ(hit(), expected);
        now += (expected - 1) * second;
        EXPECT_EQ(fail(), 1u);
        now += second;
    }
    now += 898 * second;
    EXPECT_EQ(hit(), 900u);
}

TEST_F(failures_test, counts_addresses_apart_and_networks_of_ipv6_together) {
    EXPECT_EQ(hit(), 60u);
    client = address("192.0.2.2");
    ASSERT_NE(table->word_of(client), table->word_of(address("192.0.2.1")));
    fail_freely(1);
    client = address("2001:db8:0:1::1");
    EXPECT_EQ(hit(), 60u);
    client = address("2001:db8:0:1:ffff::2");
    EXPECT_EQ(fail(), 60u);
    client = address("2001:db8:0:2::1");
    fail_freely(1);
    EXPECT_EQ(network_of(address("2001:db8::1:2:3:4")), address("2001:db8::"));
    EXPECT_EQ(network_of(address("192.0.2.1")), address("192.0.2.1"));
}

TEST_F(failures_test, addresses_of_one_word_share_it) {
    auto const other = [&] {
        for (unsigned i = 0;; ++i) {
            model::address some = address("10.0.0.0");
            for (unsigned byte = 0; byte < 3; ++byte)
                some.bytes[15 - byte] = static_cast<std::uint8_t>(i >> 8 * byte);
            if (table->word_of(some) == table->word_of(client)) return some;
        }
    }();
    EXPECT_EQ(hit(), 60u);
    EXPECT_EQ(table->count(other, now), 60u);
}

TEST_F(failures_test, the_seed_decides_which_addresses_share_a_word) {
    auth_failure_limiter const another(30, 4712);
    int same_words = 0;
    std::set<std::size_t> used_words;
    for (unsigned i = 0; i < 1000; ++i) {
        auto const some =
            address("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250));
        same_words += another.word_of(some) == table->word_of(some);
        used_words.insert(table->word_of(some));
    }
    EXPECT_LT(same_words, 5);
    EXPECT_GT(used_words.size(), 950u);
}

TEST_F(failures_test, can_be_set_and_switched_off) {
    auth_failure_limiter strict(1, 1), disabled(0, 1),
        loose(auth_failure_limiter::per_minute_max, 1);
    EXPECT_EQ(strict.count(client, now), 0u);
    EXPECT_EQ(strict.count(client, now), 60u);
    for (std::uint32_t i = 0; i < auth_failure_limiter::per_minute_max; ++i) {
        ASSERT_EQ(disabled.count(client, now), 0u);
        ASSERT_EQ(loose.count(client, now), 0u);
    }
    EXPECT_EQ(disabled.count(client, now), 0u);
    EXPECT_EQ(loose.count(client, now), 60u);
}

TEST_F(failures_test, work_early_and_late_in_the_uptime_of_a_machine) {
    for (base::mono_ns const start : {base::mono_ns{0}, second / 100, 30 * 365 * 86'400 * second}) {
        table = std::make_unique<auth_failure_limiter>(30, 4711);
        now = start;
        EXPECT_EQ(hit(), 60u);
        now += 60 * second;
        EXPECT_EQ(hit(), 120u);
    }
}

TEST_F(failures_test, accept_a_worker_whose_turn_began_earlier) {
    fail_freely(15);
    now -= second;
    fail_freely(15);
    EXPECT_GE(fail(), 60u);
    EXPECT_LE(fail(), 61u);
}

TEST_F(failures_test, allocate_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    auto const allocations_before = test::allocations();
    for (int i = 0; i < 1000; ++i) fail();
    EXPECT_EQ(test::allocations(), allocations_before);
}

TEST_F(failures_test, of_many_threads_are_counted_exactly) {
    constexpr int times = 2000;
    table = std::make_unique<auth_failure_limiter>(5000, 4711);
    std::array<int, 4> refusals{};
    std::vector<std::thread> threads;
    for (auto& thread_refusals : refusals)
        threads.emplace_back([&] {
            for (int i = 0; i < times; ++i) thread_refusals += fail() != 0;
        });
    for (auto& each : threads) each.join();
    EXPECT_EQ(refusals[0] + refusals[1] + refusals[2] + refusals[3], 4 * times - 5000);
}

}  // namespace
}  // namespace latchkey::limit
