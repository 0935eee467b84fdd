// Parsing a head (guard and llhttp), without and with the section cache, and serialising a
// response.
//
//     http-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <string>

#include "allocations.hpp"
#include "base/check.hpp"
#include "wire/http/parser.hpp"
#include "wire/http/write.hpp"

namespace latchkey::http {

std::string const heads[] = {
    "GET /api/v1/users/1 HTTP/1.1\r\nHost: localhost\r\n"
    "X-API-Key: lkey0123456789012345678901234567890123456789abcd\r\n\r\n",
    "GET /api/v1/users/1?include=posts HTTP/1.1\r\nHost: api.example.com\r\n"
    "Authorization: Bearer lkey0123456789012345678901234567890123456789abcd\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: application/json, text/plain, */*\r\nAccept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\nOrigin: https://app.example.com\r\n"
    "Connection: keep-alive\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors\r\n"
    "Sec-Fetch-Site: same-site\r\nIf-None-Match: \"0123456789abcdefghi\"\r\n\r\n"};

void read_head(benchmark::State& state) {
    auto const& text = heads[state.range(0)];
    size_limits limits;
    parser subject(limits);
    request head;
    framing delivery;
    auto const initial = test::allocations();
    for (auto _ : state) {
        auto const step = subject.read_head(text, head, delivery);
        base::check(step.state == step::progress::complete, "the head was not understood");
        subject.next();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
    state.counters["allocations"] = static_cast<double>(test::allocations() - initial);
}
BENCHMARK(read_head)->Arg(0)->Arg(1);

// The same with the section cache on and filled.
void read_head_cached(benchmark::State& state) {
    auto const& text = heads[state.range(0)];
    size_limits limits;
    section_cache sections;
    parser subject(limits, &sections);
    request head;
    framing delivery;
    for (auto _ : state) {
        auto const step = subject.read_head(text, head, delivery);
        base::check(step.state == step::progress::complete, "the head was not understood");
        subject.next();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_head_cached)->Arg(0)->Arg(1);

void write_answer(benchmark::State& state) {
    response answer;
    answer.content_type = content::json;
    answer.body.assign(140, 'x');
    for (auto const* const name : {"Cache-Control", "ETag", "X-Request-Id", "Vary", "RateLimit"})
        answer.add(name, std::string_view("a value of thirty characters.."));
    date_line date;
    std::string output;
    for (auto _ : state) {
        output.clear();
        write(answer, {}, date.at(1'800'000'000'000), output);
        benchmark::DoNotOptimize(output.data());
    }
}
BENCHMARK(write_answer);

}  // namespace latchkey::http

BENCHMARK_MAIN();
