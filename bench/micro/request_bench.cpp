// A whole GET of a user without a socket: bytes in, bytes out, and its line in the log; and the
// parts of it.
//
//     request-bench [--benchmark_filter=whole] [--benchmark_repetitions=5]
//
// `allocations` are per request, by `new`.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <string>

#include "allocations.hpp"
#include "api/exchange.hpp"
#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "http/parser.hpp"
#include "http/write.hpp"
#include "server/access_log.hpp"
#include "store/writer.hpp"

namespace latchkey {

std::string temporary_directory() {
    auto name = (std::filesystem::temp_directory_path() / "request-bench-XXXXXX").string();
    base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
    return name;
}

// A worker's desk over a small store, one key with the default limits and one user.
class worker_desk {
  public:
    worker_desk() {
        auth::fresh_key const key("lkey");
        model::key record{.digest = auth::digest_of(key.text()), .name = "bench"};
        record.scopes.add("*");
        record.rate_limits = {{.name = "minute", .limit = 600'000'000, .window_seconds = 60},
                              {.name = "hour", .limit = 2'000'000'000, .window_seconds = 3600}};
        std::vector<store::command> commands(2);
        commands[0].what = store::create_key{std::move(record)};
        commands[1].what = store::create_user{"Ada Lovelace", "ada@example.com"};
        for (auto const& done : store::apply(*store_, std::move(commands)).value())
            base::check(done.problem == base::problem::none, "the store was not filled");
        text = "GET /api/v1/users/1 HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " +
               std::string(key.text()) + "\r\n\r\n";
        snapshot_ = std::make_unique<store::snapshot>(*store_);
        snapshot_->renew();
        keys_.follow(*snapshot_);
        desk = std::make_unique<api::desk>(api::desk{rules_, *snapshot_, keys_, leases_, *failures_,
                                                     cursors_, random_, running_, &uses_});
    }
    ~worker_desk() {
        snapshot_.reset();
        store_.reset();
        std::filesystem::remove_all(path_);
    }

    std::string text;
    std::unique_ptr<api::desk> desk;
    base::instant now = base::read_clocks();

  private:
    std::string path_ = temporary_directory();
    std::unique_ptr<store::environment> store_ =
        store::environment::open({.directory = path_, .map_bytes = 1 << 26, .sync = false}).value();
    api::settings rules_;
    std::unique_ptr<store::snapshot> snapshot_;
    auth::cache keys_;
    std::unique_ptr<limit::buckets> buckets_ = limit::buckets::make(1024).value();
    limit::leases leases_{*buckets_, {}};
    std::unique_ptr<limit::failures> failures_ = std::make_unique<limit::failures>(30, 1);
    auth::seal cursors_{store_->derived_key("cursors").value()};
    std::uint64_t random_ = 42;
    api::in_progress running_;
    auth::uses uses_;
};

worker_desk& at() {
    static worker_desk one;
    return one;
}

// What a connection keeps between requests.
struct request_state {
    http::settings limits;
    http::section_cache sections;
    http::parser parser{limits, &sections};
    http::request request;
    http::framing framing;
    http::response answer;
    http::date_line date;
    api::exchange exchange;
    api::peer from{.tls = false, .local = true, .client = model::address::parse("127.0.0.1")};
    server::log_entry entry;
    std::string input, output, lines;

    void parse() {
        auto const head = parser.read_head(input, request, framing);
        base::check(head.state == http::step::state::complete, "the request was not understood");
    }
    void exchange_it() {
        answer.clear();
        exchange.begin(*at().desk, request, framing, from, at().now, answer);
        base::check(answer.status == 200, "the request was refused");
    }
    void write() { http::write(answer, {}, date.at(at().now.wall), output); }
    void log() {
        entry.begin(request.method_text, request.path, {}, at().now);
        entry.status = answer.status;
        server::append_line(entry, &exchange, from, 1234, lines);
        if (lines.size() > 60'000) lines.clear();
    }
    void next() {
        parser.next();
        output.clear();
        at().now.mono += 100'000;  // 10,000 requests a second
    }
};

void report(benchmark::State& state, std::uint64_t before) {
    state.counters["allocations"] =
        static_cast<double>(test::allocations() - before) /
        static_cast<double>(std::max<std::int64_t>(1, state.iterations()));
}

void parse(benchmark::State& state) {
    request_state of;
    auto const before = test::allocations();
    for (auto _ : state) {
        of.input.assign(at().text);
        of.parse();
        of.next();
    }
    report(state, before);
}
BENCHMARK(parse);

void whole(benchmark::State& state, bool logged) {
    request_state of;
    auto const before = test::allocations();
    for (auto _ : state) {
        of.input.assign(at().text);
        of.parse();
        of.exchange_it();
        of.write();
        if (logged) of.log();
        of.next();
    }
    report(state, before);
}
BENCHMARK_CAPTURE(whole, with_log, true);
BENCHMARK_CAPTURE(whole, without_log, false);

void log_line(benchmark::State& state) {
    request_state of;
    of.input.assign(at().text);
    of.parse();
    of.exchange_it();
    for (auto _ : state) of.log();
}
BENCHMARK(log_line);

void write_answer(benchmark::State& state) {
    request_state of;
    of.input.assign(at().text);
    of.parse();
    of.exchange_it();
    for (auto _ : state) {
        of.write();
        of.output.clear();
    }
}
BENCHMARK(write_answer);

}  // namespace latchkey

BENCHMARK_MAIN();
