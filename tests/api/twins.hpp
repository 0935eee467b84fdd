// Two fixtures in the same state, for fuzzers that give both the same input in two ways. Clock and
// randomness are fixed, and writes are undone before the next input, so that each input finds the
// same state.
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

// Call once, in LLVMFuzzerInitialize: stores are in memory, and a failed expectation of the harness
// counts as a finding.
inline void prepare_fuzzer() {
    if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 1);
    testing::GTEST_FLAG(throw_on_failure) = true;
}

class twins {
  public:
    static constexpr base::instant now{.mono = 1'000'000'000'000, .wall = 1'800'000'000'000};

    twins() { make_both(); }

    // Both in their initial state.
    void begin() {
        if (std::exchange(has_changed_, false)) make_both();
        for (auto* const each : {&*first_, &*second_}) each->services().random = 42;
    }
    api_fixture& first() { return turn_to(*first_); }
    api_fixture& second() { return turn_to(*second_); }
    // A write has changed them.
    void mark_changed() { has_changed_ = true; }

  private:
    static api_fixture& turn_to(api_fixture& one) {
        fix_random(2);
        return one;
    }
    void make_both() {
        make(first_);
        make(second_);
    }
    static void make(std::optional<api_fixture>& one) {
        fix_random(1);
        one.reset();
        one.emplace([] { return now.wall; });
        one->now = now;
        one->peer = {.tls = true, .local = false, .relayed = false, .client = std::nullopt};
        auto const user = one->add_user("Ada", "ada@example.com");
        one->add_post(user, model::post_status::published, "First");
        one->add_post(user, model::post_status::draft, "Second");
    }

    std::optional<api_fixture> first_;
    std::optional<api_fixture> second_;
    bool has_changed_ = false;
};

}  // namespace latchkey::api
