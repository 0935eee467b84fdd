// Decoding a user record, and its entity tag.
//
//     model-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include "model/cidr.hpp"
#include "model/entity_tag.hpp"
#include "model/scope.hpp"

namespace latchkey::model {

user const ada{.id = 1,
               .name = "Ada Lovelace",
               .email = "ada@example.com",
               .created_at = 1'800'000'000'000,
               .updated_at = 1'800'000'000'000};

void decode(benchmark::State& state) {
    std::string bytes;
    encode(ada, bytes);
    for (auto _ : state) benchmark::DoNotOptimize(decode_user(1, bytes));
}
BENCHMARK(decode);

void tag(benchmark::State& state) {
    auto const view = view_of(ada);
    for (auto _ : state) benchmark::DoNotOptimize(tag_of(view));
}
BENCHMARK(tag);

void address_text(benchmark::State& state) {
    auto const client = address::parse("203.0.113.77").value();
    for (auto _ : state) benchmark::DoNotOptimize(client.text());
}
BENCHMARK(address_text);

}  // namespace latchkey::model

BENCHMARK_MAIN();
