#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "support.hpp"

namespace latchkey::store {
namespace {

// store-child, beside this program, with its output in a pipe.
class child {
  public:
    child(std::string what, std::string directory, std::uint64_t number = 0) {
        auto program =
            std::filesystem::read_symlink("/proc/self/exe").parent_path() / "store-child";
        auto text = std::to_string(number);
        auto path = program.string();
        char* arguments[] = {path.data(), what.data(), directory.data(), text.data(), nullptr};
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        EXPECT_EQ(::posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments, environ), 0);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        output_ = ends[0];
    }
    ~child() {
        if (pid_ > 0) ::kill(pid_, SIGKILL), wait();
        ::close(output_);
    }
    child(child const&) = delete;
    child& operator=(child const&) = delete;

    pid_t pid() const { return pid_; }
    // Never without a process of our own: to kill(2), -1 means everybody.
    void kill() {
        if (pid_ > 0) ::kill(pid_, SIGKILL);
    }
    // Until it ended, or closed its output.
    std::string rest_of_output() {
        std::string all;
        char bytes[4096];
        for (ssize_t size; (size = ::read(output_, bytes, sizeof bytes)) > 0;)
            all.append(bytes, static_cast<std::size_t>(size));
        return all;
    }
    int wait() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return status;
    }

  private:
    pid_t pid_ = -1;
    int output_ = -1;
};

struct answered {
    std::map<model::id, model::id> users, posts;  // of posts: the user
    std::set<model::id> gone_users, gone_posts;

    void read(std::string const& output) {
        std::istringstream lines(output);
        for (std::string line; std::getline(lines, line);) {
            if (lines.eof()) return;  // the last one may be cut
            std::istringstream words(line);
            std::string what;
            model::id id = 0, user = 0;
            words >> what >> id >> user;
            if (what == "+u") users[id] = 0;
            if (what == "+p") posts[id] = user;
            if (what == "-u") gone_users.insert(id);
            if (what == "-p") gone_posts.insert(id);
        }
    }
};

// What was answered is so, but for the last command of each of the three threads, which may have
// been carried out without an answer.
void expect_everything_answered(environment& store, answered const& told) {
    snapshot seen(store);
    seen.renew();
    for (auto const id : told.gone_users) EXPECT_FALSE(seen.user(id)) << "user " << id;
    for (auto const id : told.gone_posts) EXPECT_FALSE(seen.post(id)) << "post " << id;
    std::size_t unexplained = 0;
    for (auto const& [id, nobody] : told.users)
        if (!told.gone_users.contains(id) && !seen.user(id)) ++unexplained;
    for (auto const& [id, user] : told.posts)
        if (!told.gone_posts.contains(id) && seen.user(user) && !seen.post(id)) ++unexplained;
    EXPECT_LE(unexplained, 3u);
}

TEST(processes, that_are_killed_lose_nothing_that_was_answered) {
    temporary_directory const directory;
    std::size_t commits = 0;
    for (std::uint64_t round = 1; round <= 8; ++round) {
        child loaded("load", directory.path(), round);
        std::thread killer([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(150 + round * 37));
            loaded.kill();
        });
        answered told;
        told.read(loaded.rest_of_output());
        killer.join();
        EXPECT_TRUE(WIFSIGNALED(loaded.wait()));
        commits += told.users.size() + told.posts.size();
        auto const store = open_store(directory.path());
        ASSERT_TRUE(store);
        expect_whole(*store);
        expect_everything_answered(*store, told);
        // And it goes on.
        EXPECT_EQ(
            one(*store, new_user("x", "round" + std::to_string(round) + "@example.org")).problem,
            base::problem::none);
    }
    EXPECT_GT(commits, 20u);
}

TEST(processes, share_a_store) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    writer through(*store);
    snapshot seen(*store);
    child other("apply", directory.path(), 400);
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t)
        readers.emplace_back([&] {
            snapshot mine(*store);
            while (!done) {
                mine.renew();
                std::uint64_t given = 0;
                auto const answer = mine.users({.limit = 1000}, [&](auto const&) { ++given; });
                if (given != answer.total || mine.damaged()) ++wrong;
                mine.reset();
            }
        });
    for (int i = 0; i < 200; ++i) {
        auto const user =
            made_user(ask(through, new_user("here", "here" + std::to_string(i) + "@example.org")));
        seen.renew();
        EXPECT_TRUE(seen.user(user.id));
        seen.reset();
    }
    EXPECT_EQ(other.wait(), 0);
    done = true;
    for (auto& reader : readers) reader.join();
    EXPECT_EQ(wrong, 0);
    seen.renew();
    EXPECT_EQ(seen.users({}, [](auto const&) {}).total, 600u);
    EXPECT_TRUE(seen.user_with_email("child399@example.org"));
    seen.reset();
    through.stop();
    expect_whole(*store);
}

// A renewal that waits after any of its instructions, while two commits are made. (Found where one
// had read the later version under the name of the earlier one, and mixed what it knew of both.)
TEST(processes, see_the_version_that_they_name_whenever_others_commit) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    GTEST_SKIP() << "too many of its instructions would be the sanitizer's";
#endif
#endif
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    snapshot mine(*store);
    std::map<std::uint64_t, std::uint64_t> users;  // by version
    auto const commit = [&] {
        made_user(one(*store, new_user("u", std::to_string(users.size()) + "@example.org")));
        mine.renew();
        users[mine.version()] = mine.users({}, [](auto const&) {}).total;
        mine.reset();
    };
    commit();
    child other("renew", directory.path(), 10'000);
    int status = 0;
    auto const goes_on = [&](auto how) {  // until it stops; false: it ended
        ::ptrace(how, other.pid(), nullptr, nullptr);
        return ::waitpid(other.pid(), &status, 0) == other.pid() && WIFSTOPPED(status);
    };
    ::waitpid(other.pid(), &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "nobody may trace here";
    ASSERT_TRUE(WIFSTOPPED(status));
    bool renewed = false;
    for (int steps = 0; !renewed; steps += 8) {
        for (int i = 0; i < steps && !renewed; ++i) {
            ASSERT_TRUE(goes_on(PTRACE_SINGLESTEP));
            renewed = WSTOPSIG(status) == SIGSTOP;
        }
        commit();
        commit();
        if (!renewed) ASSERT_TRUE(goes_on(PTRACE_CONT));
        ASSERT_EQ(WSTOPSIG(status), SIGSTOP);
        ASSERT_TRUE(goes_on(PTRACE_CONT));
    }
    other.kill();
    std::istringstream lines(other.rest_of_output());
    std::size_t seen = 0;
    for (std::uint64_t version = 0, total = 0; lines >> version >> total; ++seen)
        EXPECT_EQ(users.at(version), total) << "of version " << version;
    EXPECT_GT(seen, 10u);
}

TEST(processes, have_one_server_among_them) {
    temporary_directory const directory;
    {
        auto const store = open_store(directory.path());
        ASSERT_TRUE(store->claim_for_server());
        child other("claim", directory.path());
        auto const said = other.rest_of_output();
        other.wait();
        EXPECT_NE(said.find("process " + std::to_string(::getpid()) + ")"), std::string::npos)
            << said;
    }
    child next("claim", directory.path());
    EXPECT_EQ(next.rest_of_output(), "claimed\n");
}

TEST(processes, that_died_leave_reader_slots_that_are_freed) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    child loaded("load", directory.path(), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    loaded.kill();
    loaded.wait();
    store->clear_stale_readers();
    EXPECT_EQ(one(*store, new_user("x", "x@example.org")).problem, base::problem::none);
    expect_whole(*store);
}

// Both ask for the same; whoever comes first does it, and the other is told the same.
TEST(processes, carry_out_once_what_both_ask_for) {
    constexpr unsigned count = 60;
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    made_key(one(*store, new_key(key_number(1))));
    child other("once", directory.path(), count);
    std::vector<model::id> mine, theirs;
    for (unsigned i = 0; i < count; ++i)
        mine.push_back(made_user(one(*store, new_user_once(i))).id);
    std::istringstream lines(other.rest_of_output());
    std::string kind;
    for (model::id id = 0, nobody = 0; lines >> kind >> id >> nobody;) theirs.push_back(id);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(mine, theirs);
    snapshot seen(*store);
    seen.renew();
    EXPECT_EQ(seen.users({}, [](auto const&) {}).total, count);
    seen.reset();
    expect_whole(*store);
}

TEST(processes, purge_what_another_deleted) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    made_user(one(*store, new_user("Ann", "ann@example.org")));
    for (int i = 0; i < 2048; i += 64) {
        std::vector<command> group;
        for (int k = 0; k < 64; ++k) group.push_back(new_post(1, "t"));
        ASSERT_TRUE(apply(*store, std::move(group)));
    }
    child other("doom", directory.path(), 1);
    EXPECT_EQ(other.wait(), 0);
    snapshot seen(*store);
    seen.renew();
    EXPECT_EQ(seen.posts({}, {}, [](auto const&) { FAIL(); }).total, 0u);
    seen.reset();
    expect_whole(*store);
}

TEST(processes, on_a_full_disk_refuse_what_grows_and_delete) {
    temporary_directory const directory;
    child small("disk", directory.path());
    auto const said = small.rest_of_output();
    auto const status = small.wait();
    ASSERT_TRUE(WIFEXITED(status)) << said;
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "not allowed to mount a file system";
    EXPECT_EQ(WEXITSTATUS(status), 0) << said;
}

}  // namespace
}  // namespace latchkey::store
