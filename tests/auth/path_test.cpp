// Timing side channel of the key check: the number of executed instructions must not depend on how
// much of a key is right. A test cannot measure time (bench/micro/key_timing.cpp does), so it
// counts instructions with single steps, for keys that share more and more with a real one. After
// these two functions only the SHA-256 of the whole key is used, which any changed character
// changes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <string>

#include "auth/key_form.hpp"
#include "base/base62.hpp"

namespace latchkey::auth {
namespace {

// AddressSanitizer checks a look-up at the end of a table twice, and six digits of the checksum,
// which is no secret, are looked up in one.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LATCHKEY_INSTRUMENTED 1
#endif
#endif
// ThreadSanitizer records accesses and sometimes takes another path for it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LATCHKEY_RECORDED 1
#endif
#endif
#ifdef LATCHKEY_RECORDED
constexpr bool is_recorded = true;
#else
constexpr bool is_recorded = false;
#endif
#ifdef LATCHKEY_INSTRUMENTED
constexpr std::size_t slack = 6 * 6;
#else
constexpr std::size_t slack = 0;
#endif

constexpr std::size_t checked = key_prefix_bytes + key_random_bytes;

// The first `right` characters of `real`, then other ones, with a valid checksum.
std::string key_with(std::string_view real, std::size_t right) {
    std::string text(real.substr(0, checked));
    for (std::size_t i = right; i < checked; ++i) text[i] = text[i] == 'q' ? 'r' : 'q';
    char checksum[key_bytes - checked];
    base::put_base62(base::crc32(text), checksum, sizeof checksum);
    return text.append(checksum, sizeof checksum);
}

// The instructions of `function(key)` plus those of two stops, which are constant; nullopt where
// they cannot be counted.
template <class Function>
std::optional<std::size_t> instructions(std::string const& key, Function function) {
    if (is_recorded) return std::nullopt;
    alignas(64) static char memory[key_bytes];  // the same for every key
    key.copy(memory, key_bytes);
    auto const child = ::fork();
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
        ::raise(SIGSTOP);
        function(std::string_view(memory, key_bytes));
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    int status = 0;
    std::size_t count = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status)) return std::nullopt;
    for (;;) {
        EXPECT_EQ(::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) break;
        ++count;
    }
    EXPECT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP) << status;
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return count;
}

void check_key(std::string_view key) {
    bool const formed = has_key_form(key);
    auto const digest = digest_of(key);
    asm volatile("" : : "r"(formed), "r"(digest.data()) : "memory");
}

TEST(path, of_a_key_is_independent_of_its_correct_prefix) {
    fresh_key const real("lkey");
    check_key(real.text());  // warm up
    std::set<std::size_t> counts;
    for (std::size_t right = 0; right <= checked; right += 6) {
        auto const key = key_with(real.text(), right);
        ASSERT_TRUE(has_key_form(key));
        auto const count = instructions(key, check_key);
        if (!count) GTEST_SKIP() << "instructions cannot be counted here";
        counts.insert(*count);
    }
    EXPECT_LE(*counts.rbegin() - *counts.begin(), slack) << "of " << *counts.begin();
    EXPECT_GT(*counts.begin(), 200u) << "they were counted";
}

// The checksum is no secret, but with an invalid one the count must not depend on the secret part.
TEST(path, of_an_invalid_checksum_is_independent_of_the_secret) {
    fresh_key const real("lkey");
    std::set<std::size_t> counts;
    for (std::size_t right = 0; right < checked; right += 6) {
        auto key = key_with(real.text(), right);
        key[checked] = key[checked] == 'a' ? 'b' : 'a';
        ASSERT_FALSE(has_key_form(key));
        auto const count = instructions(key, check_key);
        if (!count) GTEST_SKIP() << "instructions cannot be counted here";
        counts.insert(*count);
    }
    EXPECT_LE(*counts.rbegin() - *counts.begin(), slack) << "of " << *counts.begin();
}

// The method detects a comparison with an early exit.
TEST(path, is_longer_for_a_comparison_with_an_early_exit) {
    std::string const real(fresh_key("lkey").text());
    auto const naive = [&real](std::string_view key) {
        std::size_t same = 0;
        while (same < key.size() && key[same] == real[same]) ++same;
        asm volatile("" : : "r"(same));
    };
    auto const none = instructions(key_with(real, 0), naive);
    if (!none) GTEST_SKIP() << "instructions cannot be counted here";
    EXPECT_GT(*instructions(key_with(real, checked), naive), *none + slack);
}

}  // namespace
}  // namespace latchkey::auth
