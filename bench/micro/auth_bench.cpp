// The cost of authenticating a key (auth::cache over a real store), by number of keys.
//
//     auth-bench [--benchmark_filter=known] [--benchmark_repetitions=5]
//
// Every call uses another key, as caches and branch predictors would favour a single one.
// `allocations` are per call, by `new`.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "auth/cache.hpp"
#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "domain/writer.hpp"

namespace latchkey::auth {

constexpr std::size_t commands_per_call = 64;
constexpr std::size_t hot_keys = 1000;        // fit into a cache many times over
constexpr std::size_t pool_keys = 64 * 1024;  // that a benchmark goes through
constexpr base::instant now{.mono = 1'000'000'000'000, .wall = 1'800'000'000'000};

std::string fresh_text() {
    return std::string(fresh_key("lkey").text());
}

// A store with that many keys in a temporary directory, and the texts of some of them.
class filled_store {
  public:
    explicit filled_store(std::size_t keys) {
        auto name = (std::filesystem::temp_directory_path() / "auth-bench-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path_ = name;
        // Without sync: only reads are measured.
        store_ =
            store::environment::open({.directory = path_, .map_bytes = 8ull << 30, .sync = false})
                .value();
        std::vector<std::string> texts;
        for (std::size_t count = 0; count < keys; count += commands_per_call)
            add(std::min(commands_per_call, keys - count), texts);
        std::shuffle(texts.begin(), texts.end(), std::mt19937(1));
        texts.resize(std::min(texts.size(), pool_keys));
        sample = std::move(texts);
    }
    ~filled_store() {
        store_.reset();
        std::filesystem::remove_all(path_);
    }
    store::environment& store() { return *store_; }

    std::vector<std::string> sample;

  private:
    void add(std::size_t count, std::vector<std::string>& texts) {
        std::vector<domain::command> commands(count);
        for (auto& each : commands) {
            auto const text = texts.emplace_back(fresh_text());
            model::key record{.digest = digest_of(text), .name = "a key of a benchmark"};
            record.start = text.substr(0, 8);
            record.last4 = text.substr(key_bytes - 4);
            each.action = domain::create_key{std::move(record)};
        }
        for (auto const& outcome : domain::apply(*store_, std::move(commands)).value())
            base::check(outcome.problem == base::problem::none, "a key was not stored");
    }

    std::string path_;
    std::unique_ptr<store::environment> store_;
};

// Created on first use, then shared.
using stores = std::map<std::size_t, std::unique_ptr<filled_store>>;
stores& all_stores() {
    static stores all;
    return all;
}
filled_store& store_of(std::size_t keys) {
    auto& store = all_stores()[keys];
    if (!store) store = std::make_unique<filled_store>(keys);
    return *store;
}

std::vector<std::string> unknown_keys() {
    std::vector<std::string> texts(pool_keys);
    std::generate(texts.begin(), texts.end(), fresh_text);
    return texts;
}

// Keys with one character changed: only the checksum reveals it.
std::vector<std::string> damaged_keys() {
    auto texts = unknown_keys();
    for (std::size_t i = 0; i < texts.size(); ++i) {
        auto& byte = texts[i][i % key_bytes];
        byte = byte == '0' ? '1' : '0';
    }
    return texts;
}

void run(benchmark::State& state, std::vector<std::string> const& texts, std::size_t cache_entries,
         base::problem expected, bool keeps_text = true) {
    auto& keys = store_of(static_cast<std::size_t>(state.range(0)));
    domain::snapshot snapshot(keys.store());
    snapshot.renew();
    cache subject(cache_entries, keeps_text);
    subject.follow(snapshot);
    for (auto const& text : texts) subject.authenticate(text, nullptr, snapshot, now);
    auto const initial = test::allocations();
    auto const begin = subject.count();
    std::size_t index = 0;
    for (auto _ : state) {
        auto const verdict = subject.authenticate(texts[index], nullptr, snapshot, now);
        if (verdict.problem != expected) return state.SkipWithError("another verdict");
        if (++index == texts.size()) index = 0;
    }
    auto const calls = static_cast<double>(state.iterations());
    state.counters["allocations"] = static_cast<double>(test::allocations() - initial) / calls;
    auto const& end = subject.count();
    state.counters["hits"] = static_cast<double>(end.hits - begin.hits) / calls;
    state.counters["look_ups"] =
        static_cast<double>(end.misses + end.unknown - begin.misses - begin.unknown) / calls;
}

void known_key_hit(benchmark::State& state) {
    auto texts = store_of(static_cast<std::size_t>(state.range(0))).sample;
    texts.resize(std::min(texts.size(), hot_keys));
    run(state, texts, 16 * 1024, base::problem::none);
}
// A burst of requests with one key, by whether its text is kept (auth/recent_text.hpp).
void same_key(benchmark::State& state) {
    auto texts = store_of(static_cast<std::size_t>(state.range(0))).sample;
    texts.resize(1);
    run(state, texts, 16 * 1024, base::problem::none, state.range(1) != 0);
}
// The smallest cache, so that no key is found in it.
void known_key_miss(benchmark::State& state) {
    run(state, store_of(static_cast<std::size_t>(state.range(0))).sample, 8, base::problem::none);
}
void unknown_key(benchmark::State& state) {
    run(state, unknown_keys(), 16 * 1024, base::problem::key_invalid);
}
void garbage(benchmark::State& state) {
    run(state, damaged_keys(), 16 * 1024, base::problem::key_invalid);
}

BENCHMARK(known_key_hit)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(same_key)->ArgNames({"", "keeps_text"})->Args({1'000, 0})->Args({1'000, 1});
BENCHMARK(known_key_miss)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(unknown_key)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(garbage)->Arg(1'000)->Arg(1'000'000);

}  // namespace latchkey::auth

int main(int count, char** words) {
    benchmark::Initialize(&count, words);
    if (benchmark::ReportUnrecognizedArguments(count, words)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    // Explicitly, before the store's own statics are destroyed.
    latchkey::auth::all_stores().clear();
}
