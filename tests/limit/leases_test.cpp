// Leases: the promise of api.md §10 holds with them, in random schedules of workers whose clocks
// differ and between real threads, and a key with tokens never waits longer than promised.
#include "limit/leases.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "allocations.hpp"
#include "model_bucket.hpp"

namespace latchkey::limit {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t start = 1000 * second;
// The most that the clock of a turn lags behind in these tests. Together with the cost of leases it
// is the 100 ms of the contract.
constexpr std::int64_t staleness_max = 50 * millisecond;
constexpr std::int64_t patience = 100 * millisecond;
static_assert(lease_debt_max_ns + staleness_max <= patience);

policy fast(std::uint32_t limit = 1'000'000, std::uint32_t burst = 0) {
    std::vector<model::rate_limit> const limits = {{"a", limit, 1, burst}};
    return prepare(limits, std::array<std::uint8_t, 1>{0});
}

struct leases_test : ::testing::Test {
    std::unique_ptr<buckets> table = buckets::make(1024).value();
    leases worker_leases{*table, {.tokens = 10, .hot_charges = 4}};

    std::uint32_t shared_left(policy const& policy, base::mono_ns now, model::id key = 1) {
        return table->admit(key, policy, now, 0).levels[0].remaining;
    }
    void admit(policy const& policy, base::mono_ns now, int times, model::id key = 1) {
        for (int i = 0; i < times; ++i)
            ASSERT_TRUE(worker_leases.admit(key, policy, now, 1).admitted());
    }
};

TEST_F(leases_test, begin_when_a_key_is_hot) {
    auto const policy = fast();
    admit(policy, start, 3);
    EXPECT_EQ(worker_leases.count().leases, 0u);
    EXPECT_EQ(shared_left(policy, start), 999'997u);
    admit(policy, start, 1);
    EXPECT_EQ(worker_leases.count().leases, 1u);
    EXPECT_EQ(shared_left(policy, start), 1'000'000u - 2000 - 10);  // as if spent 2 ms later
    admit(policy, start + millisecond, 9);
    EXPECT_EQ(worker_leases.count().leases, 1u);
    EXPECT_EQ(worker_leases.count().spent, 10u);
    admit(policy, start + millisecond, 1);  // used up: it is still hot
    EXPECT_EQ(worker_leases.count().leases, 2u);
    EXPECT_EQ(worker_leases.count().forfeited, 0u);
}

TEST_F(leases_test, are_not_taken_for_slow_or_rarely_used_keys) {
    auto const policy = fast();
    for (int i = 0; i < 100; ++i) admit(policy, start + i * 3 * millisecond, 1);
    auto const slow = prepare(model::default_rate_limits(), std::array<std::uint8_t, 2>{0, 1});
    admit(slow, start, 600, 2);
    EXPECT_FALSE(worker_leases.admit(2, slow, start, 1).admitted());
    EXPECT_EQ(worker_leases.count().leases, 0u);
}

TEST_F(leases_test, end_and_are_forfeited) {
    auto const policy = fast();
    admit(policy, start, 5);
    auto const shared_before = shared_left(policy, start + lease_ns);
    admit(policy, start + lease_ns, 1);
    EXPECT_EQ(shared_left(policy, start + lease_ns), shared_before);
    admit(policy, start + lease_ns + 1, 1);  // charged directly; the rest is not returned
    EXPECT_EQ(shared_left(policy, start + lease_ns), shared_before - 1);
    EXPECT_EQ(worker_leases.count().spent, 3u);
    EXPECT_EQ(worker_leases.count().forfeited, 7u);
    EXPECT_EQ(worker_leases.count().leases, 1u);
}

TEST_F(leases_test, leave_half_of_a_bucket_to_direct_charges) {
    auto const policy = fast(1000, 40);
    std::uint32_t admitted = 0;
    leases other(*table, {.tokens = 10, .hot_charges = 4});
    for (int i = 0; i < 100; ++i) {
        admitted += worker_leases.admit(1, policy, start, 1).admitted();
        admitted += other.admit(1, policy, start, 1).admitted();
    }
    EXPECT_LE(worker_leases.count().leases + other.count().leases, 2u);
    EXPECT_LE(admitted, 40u);
    EXPECT_GE(admitted, 38u);  // an idle bucket's lease costs 2 ms
}

TEST_F(leases_test, of_an_earlier_policy_are_not_used) {
    auto const loose = fast(), strict = fast(1'000'000, 1);
    admit(loose, start, 4);
    EXPECT_EQ(worker_leases.count().leases, 1u);
    EXPECT_FALSE(worker_leases.admit(1, strict, start, 1).admitted());
    EXPECT_EQ(worker_leases.count().forfeited, 9u);
}

TEST_F(leases_test, report_what_is_left) {
    auto const policy = fast(10'000);
    admit(policy, start, 3);
    auto decision = worker_leases.admit(1, policy, start, 1);
    ASSERT_EQ(worker_leases.count().leases, 1u);
    auto const first = decision.levels[0].remaining;
    EXPECT_GE(first, 9996u - 20);  // what 2 ms refill
    EXPECT_LE(first, 9996u);
    decision = worker_leases.admit(1, policy, start, 1);
    EXPECT_EQ(decision.levels[0].remaining, first - 1);
    EXPECT_EQ(decision.levels[0].full_in_seconds, 1u);
    EXPECT_EQ(worker_leases.admit(1, policy, start, 0).levels[0].remaining, first - 1);
    EXPECT_EQ(worker_leases.count().leases, 1u);
    EXPECT_EQ(worker_leases.admit(1, policy, start, 3).levels[0].remaining, first - 4);
}

TEST_F(leases_test, of_one_key_are_not_earned_by_another) {
    auto const policy = fast();
    admit(policy, start, 3, 1);
    model::id const next = 1 + static_cast<model::id>(leases::entries);
    admit(policy, start + 2 * lease_ns, 3, next);
    EXPECT_EQ(worker_leases.count().leases, 0u);
    admit(policy, start + 2 * lease_ns, 1, next);
    EXPECT_EQ(worker_leases.count().leases, 1u);
}

TEST_F(leases_test, are_not_for_keys_without_a_line) {
    auto const policy = fast();
    auto const small = buckets::make(8).value();
    leases worker_leases(*small, {.tokens = 10, .hot_charges = 4});
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(worker_leases.admit(8, policy, start, 1).admitted());
    EXPECT_EQ(worker_leases.count().leases, 0u);
}

TEST_F(leases_test, of_one_key_are_not_pushed_out_by_another) {
    auto const policy = fast();
    admit(policy, start, 5, 1);
    model::id const rival = 1 + static_cast<model::id>(leases::entries);
    admit(policy, start, 20, rival);
    EXPECT_EQ(worker_leases.count().leases, 1u);
    admit(policy, start + 3 * lease_ns, 4, rival);
    EXPECT_EQ(worker_leases.count().leases, 2u);
}

TEST_F(leases_test, can_be_switched_off) {
    leases disabled(*table, {.tokens = 0});
    auto const policy = fast();
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(disabled.admit(1, policy, start, 1).admitted());
    EXPECT_EQ(disabled.count().leases, 0u);
    EXPECT_EQ(shared_left(policy, start), 999'000u);
}

TEST_F(leases_test, allocate_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    auto const policy = fast();
    auto const shared_before = test::allocations();
    for (int i = 0; i < 1000; ++i) worker_leases.admit(1, policy, start + i * 1000, 1);
    EXPECT_EQ(test::allocations(), shared_before);
    EXPECT_GT(worker_leases.count().leases, 0u);
}

// ---- random schedules

class schedule {
  public:
    schedule(buckets& table, model::id key, unsigned workers, std::uint64_t seed)
        : key_(key), random_(seed), turns_(workers) {
        static constexpr std::uint32_t limits[] = {200, 1000, 5000, 100'000, 1'000'000};
        std::vector<model::rate_limit> limit_settings;
        std::vector<std::uint8_t> slots = {0, 1, 2, 3, 4, 5, 6, 7};
        std::shuffle(slots.begin(), slots.end(), random_);
        for (std::size_t i = 0, count = 1 + below(3); i < count; ++i)
            limit_settings.push_back(
                {.name = std::string(1, static_cast<char>('a' + i)),
                 .limit = limits[below(std::size(limits))],
                 .window_seconds = below(4) ? 1u : 60u,
                 .burst = below(3) ? 0 : 1 + static_cast<std::uint32_t>(below(80))});
        slots.resize(limit_settings.size());
        policy_ = prepare(limit_settings, slots);
        for (auto const& each : policy_.rules) models_.emplace_back(each);
        leases::tuning const tuning{.tokens = 1 + static_cast<std::uint32_t>(below(20)),
                                    .hot_charges = 1 + static_cast<std::uint32_t>(below(5))};
        for (unsigned i = 0; i < workers; ++i)
            workers_.push_back(std::make_unique<leases>(table, tuning));
        true_now_ = static_cast<std::int64_t>(below(1u << 30)) * second + second;
        for (auto& each : turns_) each = true_now_;
    }

    // Returns the number of leases.
    std::uint64_t run(int steps) {
        for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
        for (auto const& each : models_) EXPECT_TRUE(each.keeps_promise());
        std::uint64_t sum = 0;
        for (auto const& each : workers_) sum += each->count().leases;
        return sum;
    }

  private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    std::int64_t random_up_to(std::int64_t maximum) {
        return static_cast<std::int64_t>(below(static_cast<std::uint64_t>(maximum) + 1));
    }

    void pass_time() {
        auto const& rule = policy_.rules[below(policy_.rules.size())];
        switch (below(12)) {
            case 0:
                true_now_ += random_up_to(rule.capacity_ns);
                break;
            case 1:
                true_now_ += random_up_to(staleness_max);
                break;
            case 2:
                true_now_ += random_up_to(lease_ns);
                break;
            case 3:
                true_now_ += rule.interval_ns;
                break;
            case 4:
                true_now_ += lease_ns;
                break;
            default:
                break;
        }
        for (auto& each : turns_)
            if (turns_.size() == 1 || below(3) == 0 || each + staleness_max < true_now_)
                each = true_now_;
    }

    void step() {
        pass_time();
        auto const worker = below(turns_.size());
        auto const cost = static_cast<std::uint32_t>(below(6) ? 1 : below(30));
        bool const has_tokens = has(turns_[worker], cost);
        auto const decision = workers_[worker]->admit(key_, policy_, turns_[worker], cost);
        if (decision.admitted())
            record(turns_[worker], cost);
        else if (has_tokens && below(4) == 0)
            expect_admission_in_time(worker, cost);
    }

    bool has(base::mono_ns now, std::uint32_t cost) const {
        return std::all_of(models_.begin(), models_.end(),
                           [&](auto const& each) { return each.has(now, cost); });
    }
    void record(base::mono_ns now, std::uint32_t cost) {
        if (cost == 0) return;
        for (auto& each : models_) each.admit(now, cost);
    }

    // The key had the tokens and was refused because of a lease: not for longer than promised.
    void expect_admission_in_time(std::size_t worker, std::uint32_t cost) {
        turns_[worker] += patience;
        true_now_ = std::max(true_now_, turns_[worker]);
        ASSERT_TRUE(workers_[worker]->admit(key_, policy_, turns_[worker], cost).admitted());
        record(turns_[worker], cost);
    }

    model::id key_;
    std::mt19937_64 random_;
    policy policy_;
    std::vector<model_bucket> models_;
    std::vector<std::unique_ptr<leases>> workers_;
    base::mono_ns true_now_;
    std::vector<base::mono_ns> turns_;
};

struct leased_promise : ::testing::TestWithParam<unsigned> {};

TEST_P(leased_promise, holds_in_random_schedules) {
    constexpr int schedules = 2000;
    auto const table = buckets::make(schedules + 1).value();
    std::uint64_t lease_count = 0;
    for (int i = 1; i <= schedules && !HasFailure(); ++i) {
        SCOPED_TRACE(i);
        lease_count += schedule(*table, i, GetParam(), static_cast<std::uint64_t>(i)).run(150);
    }
    EXPECT_GT(lease_count, 2000u);
}

INSTANTIATE_TEST_SUITE_P(with_workers, leased_promise, ::testing::Values(1u, 2u, 8u));

// ---- real threads

// A thread that waits for its core continues with a clock that may be very old.
constexpr int turns = 4000;
constexpr base::mono_ns turn_ns = 20'000;

// The admissions by their times, which may be some turns old, and the number of leases.
struct log {
    std::vector<base::mono_ns> admitted;
    std::uint64_t leases = 0;
};

void work(buckets& table, policy const& policy, std::atomic<base::mono_ns>& clock, log& output) {
    leases worker_leases(table, {.tokens = 8, .hot_charges = 4});
    for (int turn = 0; turn < turns; ++turn) {
        auto const now = clock.fetch_add(turn_ns, std::memory_order_relaxed);
        for (int request = 0; request < 20; ++request)
            if (worker_leases.admit(3, policy, now, 1).admitted()) output.admitted.push_back(now);
    }
    output.leases = worker_leases.count().leases;
}

TEST(threads_with_leases, keep_the_promise_in_every_interval) {
    for (std::uint32_t const limit : {300'000u, 3'000'000u}) {
        auto const table = buckets::make(16).value();
        auto const policy = fast(limit, 20'000);
        std::atomic<base::mono_ns> clock{second};
        std::array<log, 4> logs;
        std::vector<std::thread> threads;
        for (auto& each : logs) threads.emplace_back([&] { work(*table, policy, clock, each); });
        for (auto& each : threads) each.join();
        std::vector<base::mono_ns> all;
        std::uint64_t lease_count = 0;
        for (auto const& each : logs) {
            all.insert(all.end(), each.admitted.begin(), each.admitted.end());
            lease_count += each.leases;
        }
        std::sort(all.begin(), all.end());
        // One pass equivalent to checking every interval: `left` is the remainder of the tightest
        // one that ends here.
        wide left = wide{20'000} * second;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i > 0) left += wide{all[i] - all[i - 1]} * limit;
            left = std::min(left, wide{20'000} * second) - second;
            ASSERT_TRUE(left >= 0) << i;
        }
        EXPECT_GT(lease_count, 10u);
        EXPECT_GT(all.size(), 20'000u);
    }
}

}  // namespace
}  // namespace latchkey::limit
