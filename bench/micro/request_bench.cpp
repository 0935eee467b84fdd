// A whole GET of a user without a socket: bytes in, bytes out, and its line in the log; and its
// parts.
//
//     request-bench [--benchmark_filter=whole] [--benchmark_repetitions=5]
//
// `allocations` are per request, by `new`.
#include <benchmark/benchmark.h>

#include <string>

#include "allocations.hpp"
#include "base/check.hpp"
#include "request_fixture.hpp"
#include "server/observe/access_line.hpp"
#include "wire/http/parser.hpp"
#include "wire/http/write.hpp"

namespace latchkey {

request_fixture& fixture() {
    static request_fixture one;
    return one;
}

// The state of a connection.
struct connection_state {
    http::size_limits limits;
    http::section_cache sections;
    http::parser parser{limits, &sections};
    http::request request;
    http::framing framing;
    http::response response;
    http::date_line date;
    api::exchange exchange;
    api::peer peer{.tls = false, .local = true, .client = model::address::parse("127.0.0.1")};
    server::log_entry entry;
    server::access_lines log_lines;
    std::string input, output, lines;

    void parse() {
        auto const head = parser.read_head(input, request, framing);
        base::check(head.state == http::step::progress::complete, "the request was not parsed");
    }
    void run_exchange() {
        response.clear();
        exchange.begin(fixture().services(), request, framing, peer, fixture().now, response);
        base::check(response.status == 200, "the request was refused");
    }
    void write() { http::write(response, {}, date.at(fixture().now.wall), output); }
    void log() {
        entry.begin(request.method_text, request.path, {}, fixture().now);
        entry.status = response.status;
        log_lines.append(entry, &exchange, peer, 1234, lines);
        if (lines.size() > 60'000) lines.clear();
    }
    void next() {
        parser.next();
        output.clear();
        fixture().now.mono += 100'000;  // 10,000 requests a second
    }
};

void report(benchmark::State& state, std::uint64_t allocations_before) {
    state.counters["allocations"] =
        static_cast<double>(test::allocations() - allocations_before) /
        static_cast<double>(std::max<std::int64_t>(1, state.iterations()));
}

void parse(benchmark::State& state) {
    connection_state connection;
    auto const allocations_before = test::allocations();
    for (auto _ : state) {
        connection.input.assign(fixture().text);
        connection.parse();
        connection.next();
    }
    report(state, allocations_before);
}
BENCHMARK(parse);

void whole(benchmark::State& state, bool logged) {
    connection_state connection;
    auto const allocations_before = test::allocations();
    for (auto _ : state) {
        connection.input.assign(fixture().text);
        connection.parse();
        connection.run_exchange();
        connection.write();
        if (logged) connection.log();
        connection.next();
    }
    report(state, allocations_before);
}
BENCHMARK_CAPTURE(whole, with_log, true);
BENCHMARK_CAPTURE(whole, without_log, false);

void log_line(benchmark::State& state) {
    connection_state connection;
    connection.input.assign(fixture().text);
    connection.parse();
    connection.run_exchange();
    for (auto _ : state) connection.log();
}
BENCHMARK(log_line);

void write_response(benchmark::State& state) {
    connection_state connection;
    connection.input.assign(fixture().text);
    connection.parse();
    connection.run_exchange();
    for (auto _ : state) {
        connection.write();
        connection.output.clear();
    }
}
BENCHMARK(write_response);

}  // namespace latchkey

BENCHMARK_MAIN();
