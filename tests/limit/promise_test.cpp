// The promise of api.md §10 against an independent model. Direct charges are exact, so every single
// decision is compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "limit/buckets.hpp"
#include "model_bucket.hpp"

namespace latchkey::limit {
namespace {

constexpr std::int64_t second = 1'000'000'000;

class schedule {
  public:
    schedule(buckets& table, model::id key, unsigned workers, std::uint64_t seed)
        : table_(table), key_(key), random_(seed), turns_(workers) {
        static constexpr std::uint32_t limits[] = {1, 2, 3, 10, 600, 20'000, 1'000'000'000};
        static constexpr std::uint32_t windows[] = {1, 7, 60, 3600, 31'536'000};
        std::vector<model::rate_limit> limit_settings;
        std::vector<std::uint8_t> slots = {0, 1, 2, 3, 4, 5, 6, 7};
        std::shuffle(slots.begin(), slots.end(), random_);
        for (std::size_t i = 0, count = 1 + below(3); i < count; ++i)
            limit_settings.push_back(
                {.name = std::string(1, static_cast<char>('a' + i)),
                 .limit = limits[below(std::size(limits))],
                 .window_seconds = windows[below(std::size(windows))],
                 .burst = below(2) ? 0 : 1 + static_cast<std::uint32_t>(below(20))});
        slots.resize(limit_settings.size());
        policy_ = prepare(limit_settings, slots);
        for (auto const& each : policy_.rules) models_.emplace_back(each);
        true_now_ = static_cast<std::int64_t>(below(1u << 30)) * second + second;
        for (auto& each : turns_) each = true_now_;
    }

    void run(int steps) {
        for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
        for (auto const& each : models_) EXPECT_TRUE(each.keeps_promise());
    }

  private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

    // Time advances in steps of the size of one limit's token, and workers begin turns; a worker
    // that does not keeps the clock of its last turn, up to the tolerated skew.
    void pass_time() {
        auto const& rule = policy_.rules[below(policy_.rules.size())];
        std::int64_t const scale = std::max<std::int64_t>(1, rule.interval_ns / 3);
        switch (below(8)) {
            case 0:
                true_now_ += static_cast<std::int64_t>(below(10)) * rule.interval_ns;
                break;
            case 1:
                true_now_ += static_cast<std::int64_t>(below(skew_max_ns));
                break;
            case 2:
            case 3:
                true_now_ += static_cast<std::int64_t>(below(static_cast<unsigned long>(scale)));
                break;
            case 4:
                true_now_ += rule.interval_ns;
                break;
            default:
                break;
        }
        for (auto& each : turns_)
            if (turns_.size() == 1 || below(3) == 0 || each + skew_max_ns < true_now_)
                each = true_now_;
    }

    std::uint32_t some_cost() {
        if (below(4) != 0) return 1;
        auto const burst = policy_.rules[below(policy_.rules.size())].burst;
        return static_cast<std::uint32_t>(below(2) ? below(4) : below(burst + std::uint64_t{2}));
    }

    void step() {
        pass_time();
        base::mono_ns const now = turns_[below(turns_.size())];
        std::uint32_t const cost = some_cost();
        auto const decision = table_.admit(key_, policy_, now, cost);
        expect(decision, now, cost);
        if (!decision.admitted() && decision.retry_after != decision::never && turns_.size() == 1 &&
            below(2))
            expect_retry_after(now, cost, decision.retry_after);
    }

    void expect(decision const& decision, base::mono_ns now, std::uint32_t cost) {
        unsigned violated = 0;
        for (std::size_t i = 0; i < models_.size(); ++i)
            if (cost != 0 && !models_[i].has(now, cost)) violated |= 1u << i;
        ASSERT_EQ(decision.violated, violated) << "cost " << cost;
        if (violated == 0 && cost != 0)
            for (auto& each : models_) each.admit(now, cost);
        ASSERT_EQ(decision.count, models_.size());
        for (std::size_t i = 0; i < models_.size(); ++i) {
            ASSERT_EQ(decision.levels[i].remaining, models_[i].remaining(now));
            ASSERT_EQ(decision.levels[i].full_in_seconds, models_[i].full_in(now));
        }
        bool const possible = std::all_of(policy_.rules.begin(), policy_.rules.end(),
                                          [&](rule const& rule) { return cost <= rule.burst; });
        ASSERT_EQ(decision.retry_after == decision::never, !possible);
    }

    // Exactly Retry-After later the same request is admitted, and a whole second earlier it would
    // not be.
    void expect_retry_after(base::mono_ns now, std::uint32_t cost, std::uint32_t retry_after) {
        ASSERT_GE(retry_after, 1u);
        auto const earlier = now + (retry_after - std::int64_t{1}) * second;
        ASSERT_FALSE(std::all_of(models_.begin(), models_.end(),
                                 [&](auto const& each) { return each.has(earlier, cost); }));
        true_now_ = turns_[0] = now + retry_after * second;
        auto const decision = table_.admit(key_, policy_, true_now_, cost);
        ASSERT_TRUE(decision.admitted());
        expect(decision, true_now_, cost);
    }

    buckets& table_;
    model::id key_;
    std::mt19937_64 random_;
    policy policy_;
    std::vector<model_bucket> models_;
    base::mono_ns true_now_;
    std::vector<base::mono_ns> turns_;  // the clock of each worker's turn
};

struct promise : ::testing::TestWithParam<unsigned> {};

TEST_P(promise, holds_in_random_schedules) {
    constexpr int schedules = 2000;
    auto const table = buckets::make(schedules + 1).value();
    for (int i = 1; i <= schedules && !HasFailure(); ++i) {
        SCOPED_TRACE(i);
        schedule(*table, i, GetParam(), static_cast<std::uint64_t>(i)).run(60);
    }
}

INSTANTIATE_TEST_SUITE_P(with_workers, promise, ::testing::Values(1u, 2u, 8u));

template <class Work>
std::uint64_t sum_of_threads(Work work) {
    constexpr unsigned count = 4;
    std::array<std::uint64_t, count> sums{};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back([&, i] { sums[i] = work(i); });
    for (auto& each : threads) each.join();
    std::uint64_t sum = 0;
    for (auto const each : sums) sum += each;
    return sum;
}

TEST(threads, share_exactly_the_burst_while_the_clock_stands) {
    auto const table = buckets::make(16).value();
    std::vector<model::rate_limit> const limits = {{"a", 10'000, 60, 0}};
    auto const policy = prepare(limits, std::array<std::uint8_t, 1>{0});
    auto const sum = sum_of_threads([&](unsigned) {
        std::uint64_t admitted = 0;
        for (int i = 0; i < 20'000; ++i) admitted += table->admit(3, policy, second, 1).admitted();
        return admitted;
    });
    EXPECT_EQ(sum, 10'000u);
}

TEST(threads, gain_nothing_from_racing_over_two_limits) {
    auto const table = buckets::make(16).value();
    std::vector<model::rate_limit> const limits = {{"a", 3000, 60, 0}, {"b", 2900, 60, 0}};
    auto const policy = prepare(limits, std::array<std::uint8_t, 2>{5, 2});
    auto const sum = sum_of_threads([&](unsigned) {
        std::uint64_t admitted = 0;
        for (int i = 0; i < 5000; ++i) admitted += table->admit(3, policy, second, 1).admitted();
        return admitted;
    });
    EXPECT_EQ(sum, 2900u);
    auto const decision = table->admit(3, policy, second, 0);
    EXPECT_EQ(decision.levels[0].remaining, 100u);  // slot 2 is charged first and refuses for both
    EXPECT_EQ(decision.levels[1].remaining, 0u);
}

TEST(threads, keep_the_promise_while_the_clock_moves) {
    auto const table = buckets::make(16).value();
    std::vector<model::rate_limit> const limits = {{"a", 1'000'000, 1, 50}};
    auto const policy = prepare(limits, std::array<std::uint8_t, 1>{0});
    std::atomic<base::mono_ns> clock{second};
    auto const sum = sum_of_threads([&](unsigned i) {
        std::uint64_t admitted = 0;
        for (int turn = 0; turn < 50'000; ++turn) {
            // A turn: the clock is read once and ages over some requests.
            auto const now = clock.fetch_add(1000 + 17 * i, std::memory_order_relaxed);
            for (int request = 0; request < 3; ++request)
                admitted += table->admit(3, policy, now, 1).admitted();
        }
        return admitted;
    });
    auto const elapsed_ns = static_cast<std::uint64_t>(clock.load() - second);
    EXPECT_LE(sum, 50 + elapsed_ns / 1000);
    EXPECT_GE(sum, elapsed_ns / 1000 - 50);
}

}  // namespace
}  // namespace latchkey::limit
