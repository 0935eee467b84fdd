// The server's own cost of a request besides its socket: counting it in the metrics, and writing its
// line of the access log, whose making `request-bench` measures.
//
//     server-bench --benchmark_repetitions=5
//
// TMPDIR says where the log is written; a real disk.
#include <benchmark/benchmark.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/check.hpp"
#include "server/observe/access_log.hpp"
#include "server/observe/metrics.hpp"

namespace latchkey::server {

void count_a_request(benchmark::State& state) {
    auto const metrics = std::make_unique<worker_metrics>();
    api::exchange const exchange;
    base::mono_ns duration = 1000;
    for (auto _ : state) {
        metrics->record_request(&exchange, 200, base::problem::none, duration);
        duration = duration % 100'000 + 37;
    }
}
BENCHMARK(count_a_request);

double cpu_seconds(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A batch of lines through the log's thread into a file. `us_per_line` is the processor time of that
// thread alone, at which the iteration's time is set too.
void write_a_batch_of_the_log(benchmark::State& state) {
    constexpr std::size_t line_bytes = 400;
    auto folder = (std::filesystem::temp_directory_path() / "latchkey-bench-XXXXXX").string();
    base::check(::mkdtemp(folder.data()) != nullptr, "no temporary directory");
    auto const path = std::filesystem::path(folder) / "access.log";
    std::string batch;
    while (batch.size() < log_batch_bytes) batch.append(line_bytes - 1, 'x').push_back('\n');
    auto const log = log_thread::open(path).value();
    std::string lines;
    std::uint64_t submitted = 0;
    double total = 0;
    for (auto _ : state) {
        auto const begin =
            cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
        lines.assign(batch);
        log->submit(lines);
        submitted += batch.size();
        while (std::filesystem::file_size(path) < submitted) ::usleep(50);
        auto const seconds =
            cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
        total += seconds;
        state.SetIterationTime(seconds);
        if (submitted > (std::uint64_t{1} << 30)) {
            std::filesystem::resize_file(path, 0);
            submitted = 0;
        }
    }
    base::check(log->dropped() == 0, "lines were dropped");
    state.counters["us_per_line"] =
        total * 1e6 /
        (static_cast<double>(state.iterations()) * static_cast<double>(batch.size() / line_bytes));
    std::filesystem::remove_all(folder);
}
BENCHMARK(write_a_batch_of_the_log)->UseManualTime();

}  // namespace latchkey::server

BENCHMARK_MAIN();
