// Reads by id (one user, and random ones of 1,000,000), renewing a snapshot, and durable commits of
// 1 to 64 commands, in a store in the temporary directory: choose its disk with TMPDIR. Filling the
// store takes some seconds.
//
//     TMPDIR=/var/tmp store-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "domain/snapshot.hpp"
#include "domain/writer.hpp"
#include "store/environment.hpp"

namespace latchkey::domain {

constexpr model::id users = 1'000'000;
constexpr std::size_t commands_max = 64;  // of one call

class filled_store {
  public:
    explicit filled_store(bool interpolates) {
        auto name = (std::filesystem::temp_directory_path() / "store-bench-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path_ = name;
        environment_ =
            environment::open(
                {.directory = path_, .map_bytes = 1ull << 32, .interpolates = interpolates})
                .value();
        for (model::id count = 0; count < users; count += commands_max) add(commands_max);
    }
    ~filled_store() {
        environment_.reset();
        std::filesystem::remove_all(path_);
    }
    void add(std::size_t count) {
        std::vector<command> commands(count);
        for (auto& each : commands)
            each.action = create_user{"Ada Lovelace",
                                      "user" + std::to_string(++user_count_) + "@example.com"};
        for (auto const& outcome : apply(*environment_, std::move(commands)).value())
            base::check(outcome.problem == base::problem::none, "a user was refused");
    }
    environment& operator*() { return *environment_; }

  private:
    std::string path_;
    std::unique_ptr<environment> environment_;
    std::uint64_t user_count_ = 0;
};

filled_store& shared_store(bool interpolates = true) {
    if (interpolates) {
        static filled_store usual(true);
        return usual;
    }
    static filled_store bisecting(false);
    return bisecting;
}

void renew(benchmark::State& state) {
    snapshot current(*shared_store());
    for (auto _ : state) current.renew();
}
BENCHMARK(renew);

void user_by_id(benchmark::State& state) {
    snapshot current(*shared_store(state.range(1) != 0));
    current.renew();
    bool const random = state.range(0) != 0;
    std::uint64_t next = 42;
    for (auto _ : state) {
        next = next * 6364136223846793005u + 1442695040888963407u;
        auto const id = random ? 1 + static_cast<model::id>((next >> 33) % users) : 1;
        benchmark::DoNotOptimize(current.user(id));
    }
}
BENCHMARK(user_by_id)->ArgNames({"random", "interpolates"})->ArgsProduct({{0, 1}, {0, 1}});

void commit(benchmark::State& state) {
    auto& store = shared_store();
    for (auto _ : state) store.add(static_cast<std::size_t>(state.range(0)));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(commit)->Arg(1)->Arg(8)->Arg(commands_max)->UseRealTime();

}  // namespace latchkey::domain

BENCHMARK_MAIN();
