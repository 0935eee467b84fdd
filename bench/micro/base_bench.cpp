// Operations of every request: times, digits, checksums and hashes as text.
//
//     base-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <string>

#include "base/base62.hpp"
#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

namespace latchkey::base {

void timestamp(benchmark::State& state) {
    char text[timestamp_bytes];
    wall_ms now = 1'800'000'000'000;
    for (auto _ : state) {
        format_timestamp(++now, text);
        benchmark::DoNotOptimize(text);
    }
}
BENCHMARK(timestamp);

void request_id_digits(benchmark::State& state) {
    char text[22];
    std::uint64_t random = 42;
    for (auto _ : state) {
        random = random * 0x9e3779b97f4a7c15 + 1;
        put_base62_fraction(random, text, 11);
        put_base62_fraction(~random, text + 11, 11);
        benchmark::DoNotOptimize(text);
    }
}
BENCHMARK(request_id_digits);

void checksum_of_a_key(benchmark::State& state) {
    std::string const key(42, 'k');
    for (auto _ : state) benchmark::DoNotOptimize(crc32(key));
}
BENCHMARK(checksum_of_a_key);

void hash_of_an_address(benchmark::State& state) {
    std::string const text = "ada.lovelace@example.com";
    for (auto _ : state) benchmark::DoNotOptimize(hash(text));
}
BENCHMARK(hash_of_an_address);

void field_line(benchmark::State& state) {
    std::string line;
    for (auto _ : state) {
        line.clear();
        string_writer out(line, 64);
        out.put("Content-Length: ").number(state.iterations()).put("\r\n");
        benchmark::DoNotOptimize(line.data());
    }
}
BENCHMARK(field_line);

}  // namespace latchkey::base

BENCHMARK_MAIN();
