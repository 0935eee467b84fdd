// What the server adds to a request beside its socket: a count in its metrics.
//
//     server-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <memory>

#include "server/metrics.hpp"

namespace latchkey::server {

void count_a_request(benchmark::State& state) {
    auto const metrics = std::make_unique<worker_metrics>();
    api::exchange const exchange;
    base::mono_ns took = 1000;
    for (auto _ : state) {
        metrics->finished(&exchange, 200, base::problem::none, took);
        took = took % 100'000 + 37;
    }
}
BENCHMARK(count_a_request);

}  // namespace latchkey::server

BENCHMARK_MAIN();
