#include "domain/admin/backup.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "../support.hpp"
#include "domain/admin/inspect.hpp"
#include "store/files/claim.hpp"

namespace latchkey::domain {
namespace {

std::string copy_of(environment& store, std::string const& path, bool compact = false) {
    int const descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_TRUE(copy_to(store, descriptor, compact));
    ::close(descriptor);
    return path;
}

// Makes a store with some users and a copy of it, and closes the store.
std::string make_store_and_copy(std::string const& directory, std::string const& copy, int users) {
    auto const store = open_store(directory);
    for (int i = 0; i < users; ++i)
        get_user(one(*store, new_user("u", "u" + std::to_string(i) + "@example.org")));
    return copy_of(*store, copy);
}

TEST(backups, are_restored_to_a_new_and_to_an_existing_directory) {
    temporary_directory const outer;
    auto const file = make_store_and_copy(outer.path() + "/a", outer.path() + "/copy", 5);
    auto const target = outer.path() + "/deep/b";
    auto const first = replace(target, file, false);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_FALSE(first->previous_kept);
    auto const report = inspect(target);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->users, 5u);
    EXPECT_TRUE(report->wrong.empty());

    EXPECT_FALSE(replace(target, file, false));
    auto const second =
        replace(target, make_store_and_copy(outer.path() + "/c", outer.path() + "/copy2", 7), true);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_TRUE(second->previous_kept);
    auto const store = open_store(target);
    expect_sound(*store);
    EXPECT_EQ(get_user(one(*store, new_user("x", "x@example.org"))).id, 8);
}

TEST(backups, do_not_replace_an_open_store) {
    temporary_directory const outer;
    auto const file = make_store_and_copy(outer.path() + "/a", outer.path() + "/copy", 1);
    auto const store = open_store(outer.path() + "/b");
    // In a child process, since LMDB's lock belongs to the process.
    auto const attempt = [&] {
        auto const result = replace(outer.path() + "/b", file, true);
        std::fprintf(stderr, "%s\n", result ? "replaced" : result.error().message.c_str());
        ::_exit(0);
    };
    testing::GTEST_FLAG(death_test_style) = "fast";
    EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "has the store in .* open");
    ASSERT_TRUE(store->claim_for_server());
    EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "serves .*: stop it first");
}

// The lock that a restore holds while it replaces the file, held longer by a child process.
class swap_in_progress {
  public:
    explicit swap_in_progress(std::string const& directory, unsigned microseconds) {
        int ready[2];
        EXPECT_EQ(::pipe(ready), 0);
        if ((child_ = ::fork()) == 0) {
            int const lock =
                ::open((directory + "/store.mdb-lock").c_str(), O_RDWR | O_CREAT, 0600);
            struct flock range{};
            range.l_type = F_WRLCK;
            range.l_whence = SEEK_SET;
            range.l_len = 1;
            if (::fcntl(lock, F_SETLK, &range) != 0 || ::ftruncate(lock, 0) != 0) ::_exit(1);
            if (::write(ready[1], "", 1) != 1) ::_exit(1);
            ::usleep(microseconds);
            ::_exit(0);
        }
        ::close(ready[1]);
        char byte;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        ::close(ready[0]);
    }
    ~swap_in_progress() { EXPECT_EQ(status_of(child_), 0); }

    static int status_of(pid_t child) {
        int status = -1;
        return ::waitpid(child, &status, 0) == child ? status : -1;
    }

  private:
    pid_t child_ = -1;
};

TEST(backups, are_named_to_a_server_that_starts_while_one_is_restored) {
    temporary_directory const directory;
    auto restoring = claim_directory(directory.path(), claimant::restore);
    ASSERT_TRUE(restoring);
    auto const refusal = claim_directory(directory.path());
    ASSERT_FALSE(refusal);
    EXPECT_EQ(refusal.error().message, "latchkey restore (process " + std::to_string(::getpid()) +
                                           ") is at work in " + directory.path() +
                                           ": wait until it has ended");
    restoring->close();
    auto const serving = claim_directory(directory.path());
    ASSERT_TRUE(serving);
    EXPECT_EQ(claim_directory(directory.path()).error().message.find("restore"), std::string::npos);
}

std::atomic<int> stops = 0;

// LMDB may hold its write lock meanwhile, which a stopped process would keep.
TEST(backups, are_not_stopped_from_a_terminal_in_the_middle) {
    temporary_directory const outer;
    auto const store = open_store(outer.path() + "/a");
    for (int i = 0; i < 2000; ++i)
        get_user(one(*store, new_user("u", "u" + std::to_string(i) + "@example.org")));
    struct sigaction counting{}, previous{};
    counting.sa_handler = [](int) { ++stops; };
    ASSERT_EQ(::sigaction(SIGTSTP, &counting, &previous), 0);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    auto const writer = ::pthread_self();
    std::uint64_t size = 0;
    int stops_within = -1;
    std::thread reader([&] {
        std::vector<char> buffer(4096);
        for (ssize_t count; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
            if (size == 0) ::pthread_kill(writer, SIGTSTP);
            size += static_cast<std::uint64_t>(count);
            if (size < 1u << 16) stops_within = stops;
        }
    });
    EXPECT_TRUE(copy_to(*store, ends[1], false));
    EXPECT_EQ(stops, 1) << "afterwards";
    ::close(ends[1]);
    reader.join();
    ::close(ends[0]);
    ::sigaction(SIGTSTP, &previous, nullptr);
    EXPECT_GT(size, 1u << 18) << "more than a pipe holds, so the copy waited for the reader";
    EXPECT_EQ(stops_within, 0);
}

TEST(backups, make_commands_that_begin_meanwhile_wait) {
    temporary_directory const outer;
    auto const directory = outer.path() + "/b";
    make_store_and_copy(directory, outer.path() + "/copy", 3);
    swap_in_progress const swap(directory, 200'000);
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
        children.push_back(::fork());
        if (children.back() != 0) continue;
        auto const store = environment::open({.directory = directory,
                                              .map_bytes = 1u << 30,
                                              .read_only = i % 2 == 0,
                                              .sync = false});
        if (!store) std::fprintf(stderr, "%s\n", store.error().message.c_str());
        if (!store) ::_exit(1);
        domain::snapshot snapshot(**store);
        snapshot.renew();
        ::_exit(snapshot.user(3) ? 0 : 2);
    }
    for (auto const each : children) EXPECT_EQ(swap_in_progress::status_of(each), 0);
}

TEST(backups, that_are_truncated_replace_nothing) {
    temporary_directory const outer;
    auto const directory = outer.path() + "/b";
    make_store_and_copy(directory, outer.path() + "/other", 3);
    auto const file = make_store_and_copy(outer.path() + "/a", outer.path() + "/copy", 2000);
    ASSERT_EQ(::truncate(file.c_str(), 40960), 0);
    auto const result = replace(directory, file, true);
    ASSERT_FALSE(result);
    auto const report = inspect(directory);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->users, 3u);
    EXPECT_FALSE(std::filesystem::exists(directory + "/restore.part"));
    EXPECT_FALSE(replace(directory, outer.path() + "/none", true));
}

TEST(backups, have_no_master_key) {
    temporary_directory const outer;
    auto const file = make_store_and_copy(outer.path() + "/a", outer.path() + "/copy", 3);
    std::ifstream key(outer.path() + "/a/master.key", std::ios::binary);
    std::ifstream copy(file, std::ios::binary);
    std::string const secret{std::istreambuf_iterator<char>(key), {}};
    std::string const bytes{std::istreambuf_iterator<char>(copy), {}};
    ASSERT_EQ(secret.size(), 32u);
    EXPECT_EQ(bytes.find(secret), bytes.npos);
}

}  // namespace
}  // namespace latchkey::domain
