// Two stations that are the same in everything, for fuzzers that ask both the same thing in two
// ways. Clock and randomness stand still, and what was written is undone before the next input, so
// an input finds what it found the first time.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "fixed_random.hpp"
#include "harness.hpp"

namespace latchkey::api {

inline void want(bool holds) {
    if (!holds) __builtin_trap();
}

// To be called once, by LLVMFuzzerInitialize: stores lie in memory, and what the harness expects of
// its own counts as a finding.
inline void prepare_fuzzer() {
    if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 1);
    testing::GTEST_FLAG(throw_on_failure) = true;
}

class twins {
  public:
    static constexpr base::instant now{.mono = 1'000'000'000'000, .wall = 1'800'000'000'000};

    twins() { make_both(); }

    // Both, as they were when they were made.
    void begin() {
        if (std::exchange(written_, false)) make_both();
        for (auto* const each : {&*first_, &*second_}) each->desk().random = 42;
    }
    station& first() { return turn_to(*first_); }
    station& second() { return turn_to(*second_); }
    // They are not what they were any more.
    void written() { written_ = true; }

  private:
    static station& turn_to(station& one) {
        fix_random(2);
        return one;
    }
    void make_both() {
        make(first_);
        make(second_);
    }
    static void make(std::optional<station>& one) {
        fix_random(1);
        one.reset();
        one.emplace([] { return now.wall; });
        one->now = now;
        one->from = {.tls = true, .local = false, .relayed = false, .client = std::nullopt};
        auto const user = one->add_user("Ada", "ada@example.com");
        one->add_post(user, model::post_status::published, "First");
        one->add_post(user, model::post_status::draft, "Second");
    }

    std::optional<station> first_;
    std::optional<station> second_;
    bool written_ = false;
};

}  // namespace latchkey::api
