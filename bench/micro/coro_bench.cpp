// Awaiting a task, and spawning a coroutine in a scope, with pooled frames.
//
//     coro-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include "allocations.hpp"
#include "runtime/coro/task_scope.hpp"

namespace latchkey::coro {

task<int> answer(int value) {
    co_return value + 1;
}

task<> ask(benchmark::State* state) {
    int value = 0;
    auto const initial = test::allocations();
    while (state->KeepRunning()) {
        int const next = co_await answer(value);
        value = next;
    }
    benchmark::DoNotOptimize(value);
    state->counters["allocations"] = static_cast<double>(test::allocations() - initial);
}

void call(benchmark::State& state) {
    frame_pool pool;
    frame_pool::installation const installed(pool);
    scope all;
    all.spawn(ask, &state);
}
BENCHMARK(call);

task<> nothing(int* count) {
    ++*count;
    co_return;
}

void spawn(benchmark::State& state) {
    frame_pool pool;
    frame_pool::installation const installed(pool);
    scope all;
    int count = 0;
    for (auto _ : state) all.spawn(nothing, &count);
    benchmark::DoNotOptimize(count);
}
BENCHMARK(spawn);

}  // namespace latchkey::coro

BENCHMARK_MAIN();
