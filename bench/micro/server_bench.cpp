// The server's own cost of a request besides its socket: counting it in the metrics.
//
//     server-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <memory>

#include "server/observe/metrics.hpp"

namespace latchkey::server {

void count_a_request(benchmark::State& state) {
    auto const metrics = std::make_unique<worker_metrics>();
    api::exchange const exchange;
    base::mono_ns duration = 1000;
    for (auto _ : state) {
        metrics->record_request(&exchange, 200, base::problem::none, duration);
        duration = duration % 100'000 + 37;
    }
}
BENCHMARK(count_a_request);

}  // namespace latchkey::server

BENCHMARK_MAIN();
