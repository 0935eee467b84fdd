#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "support.hpp"

namespace latchkey::domain {
namespace {

// store-child, beside this program, with its output in a pipe.
class child {
  public:
    child(std::string mode, std::string directory, std::uint64_t number = 0) {
        auto program =
            std::filesystem::read_symlink("/proc/self/exe").parent_path() / "store-child";
        auto text = std::to_string(number);
        auto path = program.string();
        char* arguments[] = {path.data(), mode.data(), directory.data(), text.data(), nullptr};
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
    // Only with a child: kill(2) takes -1 as all processes.
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
            std::string mode;
            model::id id = 0, user = 0;
            words >> mode >> id >> user;
            if (mode == "+u") users[id] = 0;
            if (mode == "+p") posts[id] = user;
            if (mode == "-u") gone_users.insert(id);
            if (mode == "-p") gone_posts.insert(id);
        }
    }
};

// Everything answered is in the store; of each of the three threads one more command may have been
// carried out without an answer.
void expect_everything_answered(environment& store, answered const& answers) {
    snapshot view(store);
    view.renew();
    for (auto const id : answers.gone_users) EXPECT_FALSE(view.user(id)) << "user " << id;
    for (auto const id : answers.gone_posts) EXPECT_FALSE(view.post(id)) << "post " << id;
    std::size_t unexplained = 0;
    for (auto const& [id, unused] : answers.users)
        if (!answers.gone_users.contains(id) && !view.user(id)) ++unexplained;
    for (auto const& [id, user] : answers.posts)
        if (!answers.gone_posts.contains(id) && view.user(user) && !view.post(id)) ++unexplained;
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
        answered answers;
        answers.read(loaded.rest_of_output());
        killer.join();
        EXPECT_TRUE(WIFSIGNALED(loaded.wait()));
        commits += answers.users.size() + answers.posts.size();
        auto const store = open_store(directory.path());
        ASSERT_TRUE(store);
        expect_sound(*store);
        expect_everything_answered(*store, answers);
        // The store can still be written.
        EXPECT_EQ(
            one(*store, new_user("x", "round" + std::to_string(round) + "@example.org")).problem,
            base::problem::none);
    }
    EXPECT_GT(commits, 20u);
}

TEST(processes, share_a_store) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    writer store_writer(*store);
    snapshot view(*store);
    child other("apply", directory.path(), 400);
    std::atomic<bool> is_done{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t)
        readers.emplace_back([&] {
            snapshot mine(*store);
            while (!is_done) {
                mine.renew();
                std::uint64_t ids = 0;
                auto const answer = mine.users({.limit = 1000}, [&](auto const&) { ++ids; });
                if (ids != answer.total || mine.damaged()) ++wrong;
                mine.reset();
            }
        });
    for (int i = 0; i < 200; ++i) {
        auto const user = get_user(
            ask(store_writer, new_user("here", "here" + std::to_string(i) + "@example.org")));
        view.renew();
        EXPECT_TRUE(view.user(user.id));
        view.reset();
    }
    EXPECT_EQ(other.wait(), 0);
    is_done = true;
    for (auto& reader : readers) reader.join();
    EXPECT_EQ(wrong, 0);
    view.renew();
    EXPECT_EQ(view.users({}, [](auto const&) {}).total, 600u);
    EXPECT_TRUE(view.user_with_email("child399@example.org"));
    view.reset();
    store_writer.stop();
    expect_sound(*store);
}

// A renewal that is stopped after any of its instructions, while two commits happen. (A regression
// test: it once read the later version under the number of the earlier one and mixed the two.)
TEST(processes, show_the_version_of_their_number_whenever_others_commit) {
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
        get_user(one(*store, new_user("u", std::to_string(users.size()) + "@example.org")));
        mine.renew();
        users[mine.version()] = mine.users({}, [](auto const&) {}).total;
        mine.reset();
    };
    commit();
    child other("renew", directory.path(), 10'000);
    int status = 0;
    auto const continues = [&](auto signal) {  // runs until the child stops; false: it ended
        ::ptrace(signal, other.pid(), nullptr, nullptr);
        return ::waitpid(other.pid(), &status, 0) == other.pid() && WIFSTOPPED(status);
    };
    ::waitpid(other.pid(), &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        GTEST_SKIP() << "tracing is not allowed here";
    ASSERT_TRUE(WIFSTOPPED(status));
    bool renewed = false;
    for (int steps = 0; !renewed; steps += 8) {
        for (int i = 0; i < steps && !renewed; ++i) {
            ASSERT_TRUE(continues(PTRACE_SINGLESTEP));
            renewed = WSTOPSIG(status) == SIGSTOP;
        }
        commit();
        commit();
        if (!renewed) ASSERT_TRUE(continues(PTRACE_CONT));
        ASSERT_EQ(WSTOPSIG(status), SIGSTOP);
        ASSERT_TRUE(continues(PTRACE_CONT));
    }
    other.kill();
    std::istringstream lines(other.rest_of_output());
    std::size_t count = 0;
    for (std::uint64_t version = 0, total = 0; lines >> version >> total; ++count)
        EXPECT_EQ(users.at(version), total) << "of version " << version;
    EXPECT_GT(count, 10u);
}

TEST(processes, have_one_server_among_them) {
    temporary_directory const directory;
    {
        auto const store = open_store(directory.path());
        ASSERT_TRUE(store->claim_for_server());
        child other("claim", directory.path());
        auto const output = other.rest_of_output();
        other.wait();
        EXPECT_NE(output.find("process " + std::to_string(::getpid()) + ")"), std::string::npos)
            << output;
    }
    child next("claim", directory.path());
    EXPECT_EQ(next.rest_of_output(), "claimed\n");
}

// `is_claimed` holds the lock for a moment; that must not keep a server from starting.
TEST(processes, become_the_server_while_others_look) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    bool claimed = false;
    for (int trial = 0; trial < 20 && !claimed; ++trial) {
        auto const path = directory.path() + "/server.lock";
        int const look = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
        ASSERT_EQ(::flock(look, LOCK_SH | LOCK_NB), 0);
        std::thread other([&] {
            ::usleep(20'000);
            ::close(look);
        });
        claimed = bool(store->claim_for_server());
        other.join();
    }
    EXPECT_TRUE(claimed);
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
    expect_sound(*store);
}

// Two processes send the same command; one carries it out, and both get the same outcome.
TEST(processes, carry_out_a_command_of_both_once) {
    constexpr unsigned count = 60;
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    get_key(one(*store, new_key(key_number(1))));
    child other("once", directory.path(), count);
    std::vector<model::id> mine, expected;
    for (unsigned i = 0; i < count; ++i) mine.push_back(get_user(one(*store, new_user_once(i))).id);
    std::istringstream lines(other.rest_of_output());
    std::string kind;
    for (model::id id = 0, unused = 0; lines >> kind >> id >> unused;) expected.push_back(id);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(mine, expected);
    snapshot view(*store);
    view.renew();
    EXPECT_EQ(view.users({}, [](auto const&) {}).total, count);
    view.reset();
    expect_sound(*store);
}

TEST(processes, purge_users_that_another_deleted) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    get_user(one(*store, new_user("Ann", "ann@example.org")));
    for (int i = 0; i < 2048; i += 64) {
        std::vector<command> group;
        for (int k = 0; k < 64; ++k) group.push_back(new_post(1, "t"));
        ASSERT_TRUE(apply(*store, std::move(group)));
    }
    child other("doom", directory.path(), 1);
    EXPECT_EQ(other.wait(), 0);
    snapshot view(*store);
    view.renew();
    EXPECT_EQ(view.posts({}, {}, [](auto const&) { FAIL(); }).total, 0u);
    view.reset();
    expect_sound(*store);
}

class full_disks : public testing::TestWithParam<char const*> {};

TEST_P(full_disks, refuse_growth_and_still_delete) {
    temporary_directory const directory;
    child small(GetParam(), directory.path());
    auto const output = small.rest_of_output();
    auto const status = small.wait();
    ASSERT_TRUE(WIFEXITED(status)) << output;
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "not allowed to mount a file system";
    EXPECT_EQ(WEXITSTATUS(status), 0) << output;
}

INSTANTIATE_TEST_SUITE_P(as_they_are, full_disks, testing::Values("disk", "holes"));

}  // namespace
}  // namespace latchkey::domain
