// The cost of counting the usage of keys (auth::usage_counter): alone, and in addition to what
// every request does with its key (authenticate, admit), by number of keys. Every request uses
// another key, and the counts are taken as often as a busy worker takes them.
//
//     usage-bench --benchmark_enable_random_interleaving --benchmark_repetitions=15
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "auth/cache.hpp"
#include "auth/key_form.hpp"
#include "auth/usage_counter.hpp"
#include "base/check.hpp"
#include "domain/writer.hpp"
#include "limit/leases.hpp"

namespace latchkey {

constexpr std::int64_t keys_max = 4096;
constexpr std::int64_t step = 4241;  // between consecutive keys; prime
constexpr std::int64_t requests_per_ms = 100;
constexpr std::int64_t requests_between_takes = 5000 * requests_per_ms;
constexpr base::instant start{.mono = 1'000'000'000'000, .wall = 1'800'000'000'000};

// The calls of one request: one note, one count.
void use(auth::usage_counter& counter, std::int64_t request, model::id key) {
    auto const now = start.wall + request / requests_per_ms;
    counter.note(key, now);
    counter.count(key, now, 200, false);
    if (request % requests_between_takes == 0)
        while (!counter.empty()) benchmark::DoNotOptimize(counter.take(domain::key_uses_max));
}

void counting_alone(benchmark::State& state) {
    auto const keys = state.range(0);
    auth::usage_counter counter;
    for (std::int64_t key = 1; key <= keys; ++key) use(counter, 1, key);
    auto const initial = test::allocations();
    std::int64_t request = 0;
    for (auto _ : state) {
        ++request;
        use(counter, request, 1 + request * step % keys);
    }
    state.counters["allocations"] =
        static_cast<double>(test::allocations() - initial) / static_cast<double>(request);
}

// A store with keys in a temporary directory, and the services that accept them.
class accepted_keys {
  public:
    accepted_keys() {
        auto name = (std::filesystem::temp_directory_path() / "usage-bench-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path_ = name;
        store_ =
            store::environment::open({.directory = path_, .map_bytes = 1ull << 30, .sync = false})
                .value();
        for (std::int64_t i = 0; i < keys_max; ++i) {
            texts_.emplace_back(auth::fresh_key("lkey").text());
            model::key record{.digest = auth::digest_of(texts_.back()), .name = "a key"};
            record.rate_limits = {{"second", 1'000'000'000, 1, 0}};
            std::vector<domain::command> commands(1);
            commands[0].action = domain::create_key{std::move(record)};
            auto const outcomes = domain::apply(*store_, std::move(commands)).value();
            base::check(outcomes.at(0).problem == base::problem::none, "a key was not stored");
        }
        snapshot_ = std::make_unique<domain::snapshot>(*store_);
        snapshot_->renew();
        cache_.follow(*snapshot_);
    }
    ~accepted_keys() {
        snapshot_.reset();
        store_.reset();
        std::filesystem::remove_all(path_);
    }

    // Authenticates and admits the key; returns its id.
    model::id accept(std::int64_t index, std::int64_t request) {
        auto const now = base::instant{start.mono + request * 10'000, start.wall};
        auto const verdict =
            cache_.authenticate(texts_[static_cast<std::size_t>(index)], nullptr, *snapshot_, now);
        auto const id = verdict.caller->record().id;
        base::check(leases_.admit(id, verdict.caller->limits(), now.mono, 1).admitted(), "refused");
        return id;
    }

  private:
    std::string path_;
    std::unique_ptr<store::environment> store_;
    std::vector<std::string> texts_;
    std::unique_ptr<domain::snapshot> snapshot_;
    auth::cache cache_;
    std::unique_ptr<limit::buckets> buckets_ = limit::buckets::make(2 * keys_max).value();
    limit::leases leases_{*buckets_};
};

std::unique_ptr<accepted_keys>& shared_keyring() {
    static std::unique_ptr<accepted_keys> instance;
    return instance;
}

std::int64_t request = 0;  // shared: the time of the buckets must not go back

template <bool counted>
void accepted(benchmark::State& state) {
    if (!shared_keyring()) shared_keyring() = std::make_unique<accepted_keys>();
    auto& keys = *shared_keyring();
    auto const count = state.range(0);
    auth::usage_counter counter;
    for (std::int64_t key = 0; key < count; ++key) keys.accept(key, ++request);
    for (auto _ : state) {
        ++request;
        auto const id = keys.accept(request * step % count, request);
        if constexpr (counted) use(counter, request, id);
    }
}
void accepted_not_counted(benchmark::State& state) {
    accepted<false>(state);
}
void accepted_and_counted(benchmark::State& state) {
    accepted<true>(state);
}

BENCHMARK(counting_alone)->Arg(1)->Arg(1000)->Arg(50'000);
BENCHMARK(accepted_not_counted)->Arg(1)->Arg(1000)->Arg(keys_max);
BENCHMARK(accepted_and_counted)->Arg(1)->Arg(1000)->Arg(keys_max);

}  // namespace latchkey

int main(int count, char** words) {
    benchmark::Initialize(&count, words);
    if (benchmark::ReportUnrecognizedArguments(count, words)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    latchkey::shared_keyring().reset();  // before the store's own statics
}
