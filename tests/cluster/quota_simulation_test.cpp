// The promise of rate limits across nodes, over simulated clusters (quota_simulation.hpp):
//
//     LATCHKEY_SEED=7 quota-test --gtest_filter='quota_simulation.*'     one seed
//     LATCHKEY_SEEDS=100000 …                                            that many
//
// Changes of the source that it notices, with the seed that does so first: a share that is not left
// before the next ask (17), or begins before others count on it (53); a new member that is believed
// present (272); an estimate that is raised by what was told when the question was sent (3), or is
// used although it was not confirmed in time (265). The unit tests notice a share that begins full,
// grants that leave no part to shares, and presence that is proved by one number instead of two.
#include "quota_simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace latchkey::cluster {
namespace {

constexpr std::uint64_t seeds_usual = 100;

std::uint64_t number_in(char const* variable, std::uint64_t otherwise) {
    char const* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

scenario faulty(std::uint64_t seed, sabotage fault = sabotage::nothing) {
    return {.seed = seed, .nodes = 2 + seed % 4, .fault = fault, .limits = {}, .demand = {}};
}

TEST(quota_simulation, never_admits_more_than_the_limit) {
    auto const only = number_in("LATCHKEY_SEED", 0);
    auto const last = only != 0 ? only : number_in("LATCHKEY_SEEDS", seeds_usual);
    std::uint64_t admissions = 0, requests = 0;
    for (auto seed = only != 0 ? only : 1; seed <= last; ++seed) {
        simulation run(faulty(seed));
        run.run();
        ASSERT_LE(run.excess_max(), 0) << "LATCHKEY_SEED=" << seed;
        ASSERT_LE(run.wait_max(), 1010 * base::millisecond) << "LATCHKEY_SEED=" << seed;
        for (auto const& key : run.keys()) {
            admissions += key.admissions.size();
            requests += key.requests;
        }
    }
    std::printf("%llu admissions of %llu requests\n", static_cast<unsigned long long>(admissions),
                static_cast<unsigned long long>(requests));
}

TEST(quota_simulation, a_seed_replays_exactly) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        simulation first(faulty(seed)), second(faulty(seed));
        first.run();
        second.run();
        EXPECT_EQ(first.events(), second.events());
        EXPECT_EQ(first.keys()[0].admissions, second.keys()[0].admissions);
    }
}

// How many of the seeds break the promise.
int broken(sabotage fault, std::uint64_t seeds) {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        simulation run(faulty(seed, fault));
        run.run();
        if (run.excess_max() > 0) ++count;
    }
    return count;
}

TEST(quota_simulation, notices_buckets_that_follow_the_clock_of_the_engine) {
    EXPECT_GT(broken(sabotage::engine_clock, 60), 0);
}

// One of two nodes loses the engine for four seconds, in full demand.
simulation cut_off(sabotage fault) {
    return simulation({.seed = 3,
                       .nodes = 2,
                       .has_faults = false,
                       .fault = fault,
                       .limits = {{"a", 100, 1, 0}},
                       .demand = {200, 200},
                       .latency = base::millisecond,
                       .cut_start = 10 * base::second,
                       .cut_end = 14 * base::second});
}

TEST(quota_simulation, notices_that_nothing_is_kept_for_silent_nodes) {
    auto run = cut_off(sabotage::no_reserve);
    run.run();
    EXPECT_GT(run.excess_max(), 0);
}

TEST(quota_simulation, a_node_without_engine_spends_its_share_while_others_keep_theirs) {
    auto run = cut_off(sabotage::nothing);
    run.run();
    EXPECT_LE(run.excess_max(), 0);
    auto const admitted = std::ranges::count_if(run.keys()[0].admissions, [](real_ns time) {
        return time >= 11 * base::second && time < 14 * base::second;
    });
    EXPECT_GT(admitted, 250);
    EXPECT_LE(admitted, 300);
}

TEST(quota_simulation, notices_tokens_that_are_spent_later_than_charged) {
    EXPECT_GT(broken(sabotage::no_hold, 60), 0);
}

struct quiet_result {
    double admitted = 0;  // of the limit's rate, or of the requests if those are fewer
    double waits = 0;     // of the requests
    double forfeited = 0;
    double asks = 0;  // per second and node
};

quiet_result run_quietly(model::rate_limit const& limit, std::vector<double> const& parts,
                         double load, real_ns latency = 500'000) {
    double const rate = static_cast<double>(limit.limit) / limit.window_seconds;
    scenario settings{.seed = 5,
                      .nodes = parts.size(),
                      .duration = 120 * base::second,
                      .has_faults = false,
                      .limits = {limit},
                      .demand = {},
                      .latency = latency};
    for (auto const part : parts) settings.demand.push_back(rate * load * part);
    simulation run(settings);
    run.run();
    EXPECT_LE(run.excess_max(), 0);
    auto const& key = run.keys()[0];
    real_ns const start = 61 * base::second;  // the full bucket of the beginning is used up
    auto const admitted =
        std::ranges::count_if(key.admissions, [&](real_ns time) { return time >= start; });
    auto const requests = static_cast<double>(key.requests - key.requests_early);
    return {
        .admitted = static_cast<double>(admitted) / std::min(requests, 60 * rate),
        .waits = static_cast<double>(key.waits) / static_cast<double>(key.requests),
        .forfeited =
            static_cast<double>(run.total().forfeited) / static_cast<double>(run.total().granted),
        .asks = static_cast<double>(run.total().asks) / 120 / static_cast<double>(parts.size())};
}

void expect_quiet(model::rate_limit const& limit, std::vector<double> const& parts, double load,
                  double admitted_min) {
    auto const result = run_quietly(limit, parts, load);
    std::printf(
        "%u per %u s, burst %u, %.2f of it asked for: admitted %.3f, waited %.3f, "
        "forfeited %.3f, %.0f asks/s\n",
        limit.limit, limit.window_seconds, limit.burst, load, result.admitted, result.waits,
        result.forfeited, result.asks);
    EXPECT_GE(result.admitted, admitted_min);
}

std::vector<model::rate_limit> const usual_limits = {{"a", 600, 60, 0}, {"b", 20'000, 3600, 0},
                                                     {"c", 100, 1, 0},  {"d", 1000, 1, 0},
                                                     {"e", 60, 60, 0},  {"f", 600, 60, 20}};

TEST(quota_simulation, even_demand_is_admitted_up_to_the_limit) {
    std::vector<double> const even = {1. / 3, 1. / 3, 1. / 3};
    for (auto const& limit : usual_limits)
        for (double const load : {0.5, 0.9, 1.1, 2.0, 10.0}) expect_quiet(limit, even, load, 0.95);
}

TEST(quota_simulation, uneven_demand_is_admitted_up_to_the_limit) {
    for (auto const& limit : usual_limits)
        for (double const load : {0.5, 0.9, 1.1, 2.0, 10.0})
            expect_quiet(limit, {0.9, 0.05, 0.05}, load, 0.9);
}

}  // namespace
}  // namespace latchkey::cluster
