// What it costs to tell whose key it is (auth::cache over a real store), by how many keys there
// are.
//
//     auth-bench [--benchmark_filter=known] [--benchmark_repetitions=5]
//
// Every call takes another key, so that neither the processor's caches nor a branch predictor sees
// one key only. `allocations` are per call, by `new`.
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
#include "store/writer.hpp"

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
        // Nobody waits for a disk here: what is measured only reads.
        store_ =
            store::environment::open({.directory = path_, .map_bytes = 8ull << 30, .sync = false})
                .value();
        std::vector<std::string> texts;
        for (std::size_t made = 0; made < keys; made += commands_per_call)
            add(std::min(commands_per_call, keys - made), texts);
        std::shuffle(texts.begin(), texts.end(), std::mt19937(1));
        texts.resize(std::min(texts.size(), pool_keys));
        known = std::move(texts);
    }
    ~filled_store() {
        store_.reset();
        std::filesystem::remove_all(path_);
    }
    store::environment& store() { return *store_; }

    std::vector<std::string> known;

  private:
    void add(std::size_t count, std::vector<std::string>& texts) {
        std::vector<store::command> commands(count);
        for (auto& each : commands) {
            auto const text = texts.emplace_back(fresh_text());
            model::key record{.digest = digest_of(text), .name = "a key of a benchmark"};
            record.start = text.substr(0, 8);
            record.last4 = text.substr(key_bytes - 4);
            each.what = store::create_key{std::move(record)};
        }
        for (auto const& done : store::apply(*store_, std::move(commands)).value())
            base::check(done.problem == base::problem::none, "a key was not stored");
    }

    std::string path_;
    std::unique_ptr<store::environment> store_;
};

// Each is made when the first benchmark asks for it, and then shared.
using stores = std::map<std::size_t, std::unique_ptr<filled_store>>;
stores& all_stores() {
    static stores all;
    return all;
}
filled_store& store_of(std::size_t keys) {
    auto& there = all_stores()[keys];
    if (!there) there = std::make_unique<filled_store>(keys);
    return *there;
}

std::vector<std::string> unknown_keys() {
    std::vector<std::string> made(pool_keys);
    std::generate(made.begin(), made.end(), fresh_text);
    return made;
}

// Keys with one character changed: only the checksum tells.
std::vector<std::string> damaged_keys() {
    auto made = unknown_keys();
    for (std::size_t i = 0; i < made.size(); ++i) {
        auto& changed = made[i][i % key_bytes];
        changed = changed == '0' ? '1' : '0';
    }
    return made;
}

void run(benchmark::State& state, std::vector<std::string> const& texts, std::size_t cache_entries,
         base::problem expected) {
    auto& keys = store_of(static_cast<std::size_t>(state.range(0)));
    store::snapshot seen(keys.store());
    seen.renew();
    cache known(cache_entries);
    known.follow(seen);
    for (auto const& text : texts) known.authenticate(text, nullptr, seen, now);
    auto const before = test::allocations();
    auto const begin = known.count();
    std::size_t at = 0;
    for (auto _ : state) {
        auto const given = known.authenticate(texts[at], nullptr, seen, now);
        if (given.problem != expected) return state.SkipWithError("another verdict");
        if (++at == texts.size()) at = 0;
    }
    auto const calls = static_cast<double>(state.iterations());
    state.counters["allocations"] = static_cast<double>(test::allocations() - before) / calls;
    auto const& end = known.count();
    state.counters["hits"] = static_cast<double>(end.hits - begin.hits) / calls;
    state.counters["look_ups"] =
        static_cast<double>(end.misses + end.unknown - begin.misses - begin.unknown) / calls;
}

void known_key_hit(benchmark::State& state) {
    auto texts = store_of(static_cast<std::size_t>(state.range(0))).known;
    texts.resize(std::min(texts.size(), hot_keys));
    run(state, texts, 16 * 1024, base::problem::none);
}
// The smallest cache there is, so that no key is found in it again.
void known_key_miss(benchmark::State& state) {
    run(state, store_of(static_cast<std::size_t>(state.range(0))).known, 8, base::problem::none);
}
void unknown_key(benchmark::State& state) {
    run(state, unknown_keys(), 16 * 1024, base::problem::key_invalid);
}
void garbage(benchmark::State& state) {
    run(state, damaged_keys(), 16 * 1024, base::problem::key_invalid);
}

BENCHMARK(known_key_hit)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(known_key_miss)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(unknown_key)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(garbage)->Arg(1'000)->Arg(1'000'000);

}  // namespace latchkey::auth

int main(int count, char** words) {
    benchmark::Initialize(&count, words);
    if (benchmark::ReportUnrecognizedArguments(count, words)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    // Here, since the store's own statics go before those of this file.
    latchkey::auth::all_stores().clear();
}
