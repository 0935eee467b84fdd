// What it costs to count what keys are used for (auth::uses): by itself, and as a part of a whole
// request, from its bytes to its answer, by how many keys there are. Every request takes another
// key; the counts are taken as often as a busy worker takes them.
//
//     usage-bench --benchmark_enable_random_interleaving --benchmark_repetitions=15
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "api/exchange.hpp"
#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "http/parser.hpp"
#include "http/write.hpp"
#include "store/writer.hpp"

namespace latchkey {

constexpr std::size_t keys_max = 4096;
constexpr std::size_t requests_between_takes = 500'000;  // 100,000 a second for 5 seconds

void take_all(auth::uses& seen) {
    while (!seen.empty()) benchmark::DoNotOptimize(seen.take(store::key_uses_max));
}

// A note and a count, as every request makes them.
void counting(benchmark::State& state) {
    auto const keys = state.range(0);
    auth::uses seen;
    auto const one = [&](std::int64_t at) {
        auto const key = 1 + at * 4241 % keys;
        seen.note(key, 1'800'000'000'000 + at / 100);
        seen.count(key, 1'800'000'000'000 + at / 100, 200, false);
    };
    for (std::int64_t at = 0; at < keys; ++at) one(at);
    auto const before = test::allocations();
    std::int64_t at = 0;
    for (auto _ : state) one(++at);
    state.counters["allocations"] =
        static_cast<double>(test::allocations() - before) / static_cast<double>(at);
}

// A worker's desk without its sockets, over a store with keys and one user.
class office {
  public:
    office() {
        auto name = (std::filesystem::temp_directory_path() / "usage-bench-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path_ = name;
        store_ =
            store::environment::open({.directory = path_, .map_bytes = 1ull << 30, .sync = false})
                .value();
        add({.what = store::create_user{"Ada Lovelace", "ada@example.com"}});
        for (std::size_t i = 0; i < keys_max; ++i) {
            auth::fresh_key const fresh("lkey");
            model::key record{.digest = auth::digest_of(fresh.text()), .name = "a key"};
            record.scopes.add("users:read");
            record.rate_limits = {{"second", 1'000'000'000, 1, 0}};
            add({.what = store::create_key{std::move(record)}});
            requests_.push_back("GET /api/v1/users/1 HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " +
                                std::string(fresh.text()) + "\r\nUser-Agent: bench\r\n\r\n");
        }
        snapshot_ = std::make_unique<store::snapshot>(*store_);
        snapshot_->renew();
        known_.follow(*snapshot_);
        desk_.reset(new api::desk{rules_, *snapshot_, known_, leases_, *failures_, random_});
    }
    ~office() {
        snapshot_.reset();
        store_.reset();
        std::filesystem::remove_all(path_);
    }

    void serve(std::size_t key, auth::uses* uses) {
        desk_->uses = uses;
        now_.mono += 10'000, now_.wall += now_.mono % 1'000'000 == 0;
        input_.assign(requests_[key]);
        answer_.clear();
        output_.clear();
        auto const head = parser_.read_head(input_, request_, framing_);
        base::check(head.state == http::step::state::complete, "an odd request");
        exchange_.begin(*desk_, request_, framing_, from_, now_, answer_);
        base::check(answer_.status == 200, "not the answer that is measured");
        http::write(answer_, {}, date_.at(now_.wall), output_);
        parser_.next();
    }

  private:
    void add(store::command what) {
        std::vector<store::command> commands;
        commands.push_back(std::move(what));
        auto const done = store::apply(*store_, std::move(commands)).value();
        base::check(done.at(0).problem == base::problem::none, "not stored");
    }

    std::string path_;
    std::unique_ptr<store::environment> store_;
    std::vector<std::string> requests_;
    std::unique_ptr<store::snapshot> snapshot_;
    auth::cache known_;
    api::settings rules_;
    http::settings limits_;
    std::unique_ptr<limit::buckets> buckets_ = limit::buckets::make(2 * keys_max).value();
    limit::leases leases_{*buckets_};
    std::unique_ptr<limit::failures> failures_ = std::make_unique<limit::failures>(30, 1);
    std::uint64_t random_ = 1;
    std::unique_ptr<api::desk> desk_;
    http::parser parser_{limits_};
    http::request request_;
    http::framing framing_;
    http::response answer_;
    http::date_line date_;
    api::exchange exchange_;
    api::peer from_{.tls = true, .local = false, .client = model::address::parse("203.0.113.7")};
    base::instant now_ = base::read_clocks();
    std::string input_, output_;
};

std::unique_ptr<office>& shared_office() {
    static std::unique_ptr<office> made;
    return made;
}

void request(benchmark::State& state, bool counted) {
    if (!shared_office()) shared_office() = std::make_unique<office>();
    auto& at = *shared_office();
    auto const keys = static_cast<std::size_t>(state.range(0));
    auth::uses seen;
    auto* const uses = counted ? &seen : nullptr;
    for (std::size_t key = 0; key < keys; ++key) at.serve(key, uses);
    std::size_t done = 0;
    for (auto _ : state) {
        at.serve(++done * 4241 % keys, uses);
        if (counted && done % requests_between_takes == 0) take_all(seen);
    }
}

void request_not_counted(benchmark::State& state) {
    request(state, false);
}
void request_counted(benchmark::State& state) {
    request(state, true);
}

BENCHMARK(counting)->Arg(1)->Arg(1000)->Arg(100'000);
BENCHMARK(request_not_counted)->Arg(1)->Arg(keys_max);
BENCHMARK(request_counted)->Arg(1)->Arg(keys_max);

}  // namespace latchkey

int main(int count, char** words) {
    benchmark::Initialize(&count, words);
    if (benchmark::ReportUnrecognizedArguments(count, words)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    latchkey::shared_office().reset();  // before the store's own statics
}
