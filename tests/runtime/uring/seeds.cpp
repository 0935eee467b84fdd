#include "seeds.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>

namespace latchkey::fake {
namespace {

constexpr unsigned timeout_seconds = 120;
constexpr std::uint64_t faults_per_line = 100'000;

std::uint64_t sum(fault_counts const& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::size_t descriptors() {
    std::filesystem::directory_iterator const all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

void print(report const& all, std::uint64_t worlds, std::uint64_t seed) {
    std::string text = std::to_string(sum(all.injected)) + " faults in " + std::to_string(worlds) +
                       " worlds, the last of seed " + std::to_string(seed) + ":";
    for (std::size_t i = 0; i < fault_count; ++i)
        text.append(" ")
            .append(name_of(static_cast<fault>(i)))
            .append(" ")
            .append(std::to_string(all.injected[i]));
    std::puts(text.c_str());
    std::fflush(stdout);
}

report run_in_this_process(std::uint64_t seed, std::function<void(world&)> const& run) {
    auto const initial = descriptors();
    world all(seed);
    run(all);
    all.expect(descriptors() == initial, "a descriptor of the process was left open");
    return {all.counts(), all.traced()};
}

}  // namespace

report run_seed(std::uint64_t seed, std::function<void(world&)> const& run) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_t const child = fork();
    if (child == 0) {
        alarm(timeout_seconds);  // a loop that never enters the kernel
        auto const result = run_in_this_process(seed, run);
        auto const written_size = ::write(ends[1], &result, sizeof result);
        ::_exit(written_size == sizeof result ? 0 : 1);
    }
    ::close(ends[1]);
    report result;
    bool const whole = ::read(ends[0], &result, sizeof result) == sizeof result;
    ::close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!whole || status != 0) {
        ADD_FAILURE() << "seed " << seed << " failed (status " << status
                      << "): LATCHKEY_SEED=" << seed << " replays it";
        return {};
    }
    return result;
}

report run_seeds(std::uint64_t faults_min, std::function<void(world&)> const& run) {
    if (char const* const one = std::getenv("LATCHKEY_SEED"))
        return run_seed(std::strtoull(one, nullptr, 10), run);
    std::uint64_t seed = 0;
    if (char const* const many = std::getenv("LATCHKEY_FAULTS")) {
        faults_min = std::strtoull(many, nullptr, 10);
        seed = std::random_device()() * std::uint64_t{1'000'000};
    }
    report all;
    std::uint64_t worlds = 0, printed_count = 0;
    while (sum(all.injected) < faults_min && !testing::Test::HasFailure()) {
        auto const one = run_seed(++seed, run);
        ++worlds;
        for (std::size_t i = 0; i < fault_count; ++i) all.injected[i] += one.injected[i];
        if (sum(all.injected) - printed_count < faults_per_line) continue;
        printed_count = sum(all.injected);
        print(all, worlds, seed);
    }
    print(all, worlds, seed);
    return all;
}

}  // namespace latchkey::fake
