// The ring alone: a no-op through the kernel and back, in batches; a message through the mailbox;
// moving a timer.
//
//     uring-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "runtime/uring/mailbox.hpp"
#include "runtime/uring/ring.hpp"
#include "runtime/uring/timers.hpp"

namespace latchkey::uring {

void round_trip(benchmark::State& state) {
    auto const owner = ring::make().value();
    std::vector<completion> ready;
    operation idle{[](operation&, completion const&) {}};
    auto const batch = state.range(0);
    for (auto _ : state) {
        for (std::int64_t i = 0; i < batch; ++i) io_uring_prep_nop(owner->submission(idle));
        owner->enter(true, 0);
        owner->collect(ready);
        ready.clear();
    }
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(round_trip)->Arg(1)->Arg(64);

void post_and_take(benchmark::State& state) {
    auto const owner = ring::make().value();
    auto const box = mailbox::make(*owner).value();
    coro::resumption node;
    for (auto _ : state) {
        box->post(node);
        benchmark::DoNotOptimize(box->take());
    }
    std::vector<completion> ready;
    for (box->close(); !box->idle(); ready.clear()) {
        owner->enter(true, 0);
        owner->collect(ready);
        for (auto const& cqe : ready) cqe.deliver();
    }
}
BENCHMARK(post_and_take);

void move_deadline(benchmark::State& state) {
    timers wheel(0);
    timers::entry entry;
    base::mono_ns deadline = 1'000'000'000;
    for (auto _ : state) wheel.arm(entry, ++deadline);
    wheel.remove(entry);
}
BENCHMARK(move_deadline);

}  // namespace latchkey::uring

BENCHMARK_MAIN();
