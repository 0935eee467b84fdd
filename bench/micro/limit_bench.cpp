// The cost of one admission: with one key or many, by one thread or several, charged directly or
// through leases. Each key has two limits that never refuse. `allocations` counts those of the
// measured loop and must be 0.
//
//     limit-bench --benchmark_repetitions=5 --benchmark_report_aggregates_only
#include <benchmark/benchmark.h>
#include <sched.h>

#include <thread>

#include "allocations.hpp"
#include "limit/auth_failure_limiter.hpp"
#include "limit/leases.hpp"

namespace {

using namespace latchkey;

constexpr model::id keys = 16'384;
constexpr int requests_per_turn = 16;

limit::buckets& table() {
    static auto const instance = limit::buckets::make(keys).value();
    return *instance;
}

limit::policy const& policy() {
    static auto const instance = [] {
        std::vector<model::rate_limit> const limits = {{"second", 1'000'000'000, 1, 0},
                                                       {"minute", 1'000'000'000, 2, 0}};
        return limit::prepare(limits, std::array<std::uint8_t, 2>{0, 1});
    }();
    return instance;
}

// Threads that share a core do not contend.
void pin(int thread) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(thread) % std::thread::hardware_concurrency(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

// The clock of a turn, read once for some requests.
class turn_clock {
  public:
    base::mono_ns now() {
        if (count_++ % requests_per_turn == 0) now_ = base::read_clocks().mono;
        return now_;
    }

  private:
    base::mono_ns now_ = 0;
    unsigned count_ = 0;
};

// Consecutive keys are far apart in the table; each thread starts at another key.
class key_walk {
  public:
    key_walk(bool one, int thread)
        : one_(one), position_(static_cast<std::uint64_t>(thread) * 7919) {}
    model::id next() {
        if (one_) return 1;
        position_ += 4241;
        return static_cast<model::id>(1 + position_ % (keys - 1));
    }

  private:
    bool one_;
    std::uint64_t position_;
};

void admit(benchmark::State& state, std::uint32_t lease_tokens, bool one_key) {
    pin(state.thread_index());
    limit::leases door(table(), {.tokens = lease_tokens});
    auto const& rules = policy();
    key_walk keys_of(one_key, state.thread_index());
    turn_clock clock;
    std::int64_t refusals = 0;
    auto const initial = test::allocations();
    for (auto _ : state) {
        auto const decision = door.admit(keys_of.next(), rules, clock.now(), 1);
        refusals += !decision.admitted();
        benchmark::DoNotOptimize(decision);
    }
    state.counters["allocations"] = static_cast<double>(test::allocations() - initial);
    state.counters["refused"] = static_cast<double>(refusals);
    state.SetItemsProcessed(state.iterations());
}

void one_key_direct(benchmark::State& state) {
    admit(state, 0, true);
}
void one_key_leased(benchmark::State& state) {
    admit(state, limit::leases::tuning{}.tokens, true);
}
void many_keys_direct(benchmark::State& state) {
    admit(state, 0, false);
}
void many_keys_leased(benchmark::State& state) {
    admit(state, limit::leases::tuning{}.tokens, false);
}

// The cost of counting failures during a flood of wrong keys from one address.
void failure_of_one_address(benchmark::State& state) {
    static limit::auth_failure_limiter shared(30, 1);
    auto const client = model::address::parse("192.0.2.1").value();
    turn_clock clock;
    pin(state.thread_index());
    for (auto _ : state) benchmark::DoNotOptimize(shared.count(client, clock.now()));
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(one_key_direct)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK(one_key_leased)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK(many_keys_direct)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK(many_keys_leased)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK(failure_of_one_address)->ThreadRange(1, 4)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
