// What it costs to count what keys are used for (auth::uses): by itself, and beside what every
// request does with its key anyway (authenticate, admit), by how many keys there are. Every request
// takes another key, and the counts are taken as often as a busy worker takes them.
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
#include "auth/uses.hpp"
#include "base/check.hpp"
#include "limit/leases.hpp"
#include "store/writer.hpp"

namespace latchkey {

constexpr std::int64_t keys_max = 4096;
constexpr std::int64_t step = 4241;  // from one key to the next; prime
constexpr std::int64_t requests_per_ms = 100;
constexpr std::int64_t requests_between_takes = 5000 * requests_per_ms;
constexpr base::instant begun{.mono = 1'000'000'000'000, .wall = 1'800'000'000'000};

// What a request adds: one note, one count.
void use(auth::uses& seen, std::int64_t request, model::id key) {
    auto const now = begun.wall + request / requests_per_ms;
    seen.note(key, now);
    seen.count(key, now, 200, false);
    if (request % requests_between_takes == 0)
        while (!seen.empty()) benchmark::DoNotOptimize(seen.take(store::key_uses_max));
}

void counting_alone(benchmark::State& state) {
    auto const keys = state.range(0);
    auth::uses seen;
    for (std::int64_t key = 1; key <= keys; ++key) use(seen, 1, key);
    auto const before = test::allocations();
    std::int64_t request = 0;
    for (auto _ : state) ++request, use(seen, request, 1 + request * step % keys);
    state.counters["allocations"] =
        static_cast<double>(test::allocations() - before) / static_cast<double>(request);
}

// Keys in a store in a temporary directory, and what a worker needs to accept them.
class keyring {
  public:
    keyring() {
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
            std::vector<store::command> commands(1);
            commands[0].what = store::create_key{std::move(record)};
            auto const made = store::apply(*store_, std::move(commands)).value();
            base::check(made.at(0).problem == base::problem::none, "a key was not stored");
        }
        snapshot_ = std::make_unique<store::snapshot>(*store_);
        snapshot_->renew();
        known_.follow(*snapshot_);
    }
    ~keyring() {
        snapshot_.reset();
        store_.reset();
        std::filesystem::remove_all(path_);
    }

    // The id of the key, which is accepted and admitted.
    model::id accept(std::int64_t which, std::int64_t request) {
        auto const now = base::instant{begun.mono + request * 10'000, begun.wall};
        auto const given =
            known_.authenticate(texts_[static_cast<std::size_t>(which)], nullptr, *snapshot_, now);
        auto const id = given.who->record().id;
        base::check(leases_.admit(id, given.who->limits(), now.mono, 1).admitted(), "refused");
        return id;
    }

  private:
    std::string path_;
    std::unique_ptr<store::environment> store_;
    std::vector<std::string> texts_;
    std::unique_ptr<store::snapshot> snapshot_;
    auth::cache known_;
    std::unique_ptr<limit::buckets> buckets_ = limit::buckets::make(2 * keys_max).value();
    limit::leases leases_{*buckets_};
};

std::unique_ptr<keyring>& shared_keyring() {
    static std::unique_ptr<keyring> made;
    return made;
}

std::int64_t request = 0;  // of all benchmarks: the buckets' time does not go back

template <bool counted>
void accepted(benchmark::State& state) {
    if (!shared_keyring()) shared_keyring() = std::make_unique<keyring>();
    auto& keys = *shared_keyring();
    auto const count = state.range(0);
    auth::uses seen;
    for (std::int64_t key = 0; key < count; ++key) keys.accept(key, ++request);
    for (auto _ : state) {
        ++request;
        auto const id = keys.accept(request * step % count, request);
        if constexpr (counted) use(seen, request, id);
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
