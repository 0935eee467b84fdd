// Whether the way that a presented key takes tells how much of it is right. Time cannot be asked in
// a test (bench/micro/key_timing.cpp asks it), but instructions can: they are counted, one by one,
// for keys that have more and more of a real one. After these two functions only the SHA-256 of
// the whole key is looked at, which a changed character changes altogether.
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

// An instrumented build looks twice at what lies at the end of a table, and six digits of the
// checksum, which is no secret, are looked up in one.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LATCHKEY_INSTRUMENTED 1
#endif
#endif
// ThreadSanitizer writes down what it sees, and now and then turns a page.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LATCHKEY_RECORDED 1
#endif
#endif
#ifdef LATCHKEY_RECORDED
constexpr bool records_itself = true;
#else
constexpr bool records_itself = false;
#endif
#ifdef LATCHKEY_INSTRUMENTED
constexpr std::size_t slack = 6 * 6;
#else
constexpr std::size_t slack = 0;
#endif

constexpr std::size_t checked = key_prefix_bytes + key_random_bytes;

// As much of `real` as is said, then others, with the checksum that belongs to it.
std::string key_with(std::string_view real, std::size_t right) {
    std::string text(real.substr(0, checked));
    for (std::size_t i = right; i < checked; ++i) text[i] = text[i] == 'q' ? 'r' : 'q';
    char checksum[key_bytes - checked];
    base::put_base62(base::crc32(text), checksum, sizeof checksum);
    return text.append(checksum, sizeof checksum);
}

// Instructions of `what(key)`, and of two stops that are the same each time; nullopt where they
// cannot be counted.
template <class Function>
std::optional<std::size_t> instructions(std::string const& key, Function what) {
    if (records_itself) return std::nullopt;
    alignas(64) static char place[key_bytes];  // the same for every key
    key.copy(place, key_bytes);
    auto const child = ::fork();
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
        ::raise(SIGSTOP);
        what(std::string_view(place, key_bytes));
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

void look_at(std::string_view key) {
    bool const formed = has_key_form(key);
    auto const digest = digest_of(key);
    asm volatile("" : : "r"(formed), "r"(digest.data()) : "memory");
}

TEST(path, of_a_key_is_the_same_however_much_of_it_is_right) {
    fresh_key const real("lkey");
    look_at(real.text());  // what is done once is done
    std::set<std::size_t> counts;
    for (std::size_t right = 0; right <= checked; right += 6) {
        auto const key = key_with(real.text(), right);
        ASSERT_TRUE(has_key_form(key));
        auto const count = instructions(key, look_at);
        if (!count) GTEST_SKIP() << "instructions cannot be counted here";
        counts.insert(*count);
    }
    EXPECT_LE(*counts.rbegin() - *counts.begin(), slack) << "of " << *counts.begin();
    EXPECT_GT(*counts.begin(), 200u) << "they were counted";
}

// The checksum is no secret, but where a wrong one differs should not matter either up to it.
TEST(path, tells_nothing_of_the_secret_characters_where_the_checksum_is_wrong) {
    fresh_key const real("lkey");
    std::set<std::size_t> counts;
    for (std::size_t right = 0; right < checked; right += 6) {
        auto key = key_with(real.text(), right);
        key[checked] = key[checked] == 'a' ? 'b' : 'a';
        ASSERT_FALSE(has_key_form(key));
        auto const count = instructions(key, look_at);
        if (!count) GTEST_SKIP() << "instructions cannot be counted here";
        counts.insert(*count);
    }
    EXPECT_LE(*counts.rbegin() - *counts.begin(), slack) << "of " << *counts.begin();
}

// That the count would show it.
TEST(path, is_longer_where_a_comparison_goes_on_longer) {
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
