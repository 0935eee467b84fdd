// A read by id, hot and at random among 1,000,000 users, what a turn pays for a fresh snapshot, and
// durable commits of one to 64 commands, in a store below the temporary directory: put that on the
// disk that is meant (TMPDIR). Filling it takes some seconds.
//
//     TMPDIR=/var/tmp store-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "store/environment.hpp"
#include "store/snapshot.hpp"
#include "store/writer.hpp"

namespace latchkey::store {

constexpr model::id users = 1'000'000;
constexpr std::size_t commands_max = 64;  // that one call applies

class filled {
  public:
    filled() {
        auto name = (std::filesystem::temp_directory_path() / "store-bench-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path_ = name;
        opened_ = environment::open({.directory = path_, .map_bytes = 1ull << 32}).value();
        for (model::id made = 0; made < users; made += commands_max) add(commands_max);
    }
    ~filled() {
        opened_.reset();
        std::filesystem::remove_all(path_);
    }
    void add(std::size_t count) {
        std::vector<command> commands(count);
        for (auto& each : commands)
            each.what =
                create_user{"Ada Lovelace", "user" + std::to_string(++made_) + "@example.com"};
        for (auto const& done : apply(*opened_, std::move(commands)).value())
            base::check(done.problem == base::problem::none, "a user was refused");
    }
    environment& operator*() { return *opened_; }

  private:
    std::string path_;
    std::unique_ptr<environment> opened_;
    std::uint64_t made_ = 0;
};

filled& at() {
    static filled one;
    return one;
}

void renew(benchmark::State& state) {
    snapshot seen(*at());
    for (auto _ : state) seen.renew();
}
BENCHMARK(renew);

void user_by_id(benchmark::State& state) {
    snapshot seen(*at());
    seen.renew();
    bool const random = state.range(0) != 0;
    std::uint64_t next = 42;
    for (auto _ : state) {
        next = next * 6364136223846793005u + 1442695040888963407u;
        auto const id = random ? 1 + static_cast<model::id>((next >> 33) % users) : 1;
        benchmark::DoNotOptimize(seen.user(id));
    }
}
BENCHMARK(user_by_id)->ArgName("random")->Arg(0)->Arg(1);

void commit(benchmark::State& state) {
    auto& to = at();
    for (auto _ : state) to.add(static_cast<std::size_t>(state.range(0)));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(commit)->Arg(1)->Arg(8)->Arg(commands_max)->UseRealTime();

}  // namespace latchkey::store

BENCHMARK_MAIN();
