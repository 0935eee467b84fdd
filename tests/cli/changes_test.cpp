// latchkey changes: lines, the part that is asked for, and how it ends.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/function_ref.hpp"
#include "command_fixture.hpp"

namespace latchkey::cli {
namespace {

constexpr int patience_ms = 60'000;

class changes_command : public command_test {
  protected:
    command_result changes(std::vector<std::string> words = {}) const {
        words.insert(words.begin(), "changes");
        return run(std::move(words));
    }
    // A writer removes all changes but the last.
    void keep_one() const {
        auto const store = open(1);
        domain::writer const writer(*store);
        domain::snapshot snapshot(*store);
        auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
        for (bool is_over = false; !is_over; std::this_thread::yield()) {
            snapshot.renew();
            auto const bounds = snapshot.changes();
            snapshot.reset();
            is_over = bounds.oldest == bounds.last || std::chrono::steady_clock::now() > end;
        }
    }
    static std::vector<std::string> sequences(std::string_view lines) {
        std::vector<std::string> all;
        while (!lines.empty()) {
            all.emplace_back(lines.substr(0, lines.find(' ')));
            lines.remove_prefix(std::min(lines.find('\n') + 1, lines.size()));
        }
        return all;
    }
};

using texts = std::vector<std::string>;

// The command in a process of its own, its output in a pipe.
class follower {
  public:
    explicit follower(base::function_ref<int()> command) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        process_ = ::fork();
        if (process_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::close(ends[0]);
            ::close(ends[1]);
            ::_exit(command());
        }
        ::close(ends[1]);
        output_ = ends[0];
    }
    ~follower() {
        close_output();
        if (process_ > 0) ::kill(process_, SIGKILL), wait();
    }
    follower(follower const&) = delete;
    follower& operator=(follower const&) = delete;

    // The next one, without its end; empty: the output ended.
    std::string line() {
        std::string text;
        for (char byte = 0;; text.push_back(byte)) {
            pollfd waiting{.fd = output_, .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, patience_ms) != 1) return "nothing in time";
            if (::read(output_, &byte, 1) != 1 || byte == '\n') return text;
        }
    }
    void interrupt() const { ::kill(process_, SIGINT); }
    void close_output() {
        if (output_ >= 0) ::close(std::exchange(output_, -1));
    }
    // Its exit code; -1: a signal ended it.
    int wait() {
        int status = 0;
        ::waitpid(std::exchange(process_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    pid_t process_ = -1;
    int output_ = -1;
};

TEST_F(changes_command, prints_a_line_for_each) {
    add_users({"ada", "bob", "eve"});
    auto const all = changes();
    EXPECT_EQ(all.code, done) << all.messages;
    EXPECT_EQ(sequences(all.output), (texts{"1", "2", "3"}));
    EXPECT_TRUE(has(all.output, "Z  user.created          user 1\n")) << all.output;
    EXPECT_EQ(sequences(changes({"--after", "1"}).output), (texts{"2", "3"}));
    EXPECT_EQ(sequences(changes({"--after", "0", "--limit", "2"}).output), (texts{"1", "2"}));
    for (auto const& words :
         std::vector<texts>{{"--after", "latest"}, {"--after", "3"}, {"--type", "key.*"}}) {
        auto const none = changes(words);
        EXPECT_EQ(none.code, done);
        EXPECT_EQ(none.output + none.messages, "");
    }
    auto const json = changes({"--type", "post.*,user.created", "--limit", "1", "--json"});
    EXPECT_TRUE(json.output.starts_with(R"({"sequence":1,"type":"user.created",)"));
    EXPECT_TRUE(has(json.output, R"("data":{"id":1,"name":"ada","email":"ada@example.com",)"));
    EXPECT_TRUE(json.output.ends_with("}}\n"));
}

TEST_F(changes_command, prints_more_than_a_part) {
    texts names;
    for (int i = 0; i < 2500; ++i) names.push_back("user" + std::to_string(i));
    add_users(names);
    EXPECT_EQ(sequences(changes().output).size(), 2500u);
    EXPECT_EQ(sequences(changes({"--limit", "1500"}).output).size(), 1500u);
    EXPECT_EQ(sequences(changes({"--type", "post.*"}).output).size(), 0u);
}

TEST_F(changes_command, refuses_what_it_does_not_know) {
    add_users({"ada"});
    for (auto const& words : std::vector<texts>{{"--type", "user.gone"},
                                                {"--after", "soon"},
                                                {"--after", "-1"},
                                                {"--after", "99999999999999999999"},
                                                {"--limit", "0"},
                                                {"--nothing"}})
        EXPECT_EQ(changes(words).code, usage_error) << words[0];
    auto const beyond = changes({"--after", "2"});
    EXPECT_EQ(beyond.code, usage_error);
    EXPECT_TRUE(has(beyond.messages, "there is no change 2 yet: the last one is 1"));
    auto const switched = changes({"--config", file("off.toml", "changes = false\n")});
    EXPECT_EQ(switched.code, failed);
    EXPECT_TRUE(has(switched.messages, "not recorded"));
}

TEST_F(changes_command, names_the_oldest_where_changes_are_gone) {
    add_users({"ada", "bob", "eve"});
    keep_one();
    auto const expiry = changes({"--after", "0"});
    EXPECT_EQ(expiry.code, failed);
    EXPECT_TRUE(has(expiry.messages, "changes_expired")) << expiry.messages;
    EXPECT_TRUE(has(expiry.messages, "the oldest is 3")) << expiry.messages;
    EXPECT_EQ(sequences(changes({"--after", "2"}).output), texts{"3"});
    EXPECT_EQ(sequences(changes().output), texts{"3"});
}

TEST_F(changes_command, follows_until_it_is_interrupted) {
    add_users({"ada"});
    follower command([&] { return execute({"changes", "--follow", "--json"}); });
    EXPECT_TRUE(command.line().starts_with(R"({"sequence":1,)"));
    add_users({"bob"});
    EXPECT_TRUE(command.line().starts_with(R"({"sequence":2,)"));
    command.interrupt();
    EXPECT_EQ(command.line(), "");
    EXPECT_EQ(command.wait(), 130);
}

TEST_F(changes_command, that_nobody_reads_has_failed) {
    texts names;
    for (int i = 0; i < 1500; ++i) names.push_back("user" + std::to_string(i));
    add_users(names);
    follower command([&] {
        ::signal(SIGPIPE, SIG_IGN);
        return execute({"changes", "--json"});
    });
    EXPECT_TRUE(command.line().starts_with(R"({"sequence":1,)"));
    command.close_output();
    EXPECT_EQ(command.wait(), failed);
}

TEST_F(changes_command, follows_until_the_limit_or_the_end_of_its_pipe) {
    add_users({"ada"});
    follower limited([&] { return execute({"changes", "--follow", "--limit", "2"}); });
    follower piped([&] { return execute({"changes", "--follow", "--after", "latest"}); });
    EXPECT_TRUE(limited.line().starts_with("1  "));
    piped.close_output();
    EXPECT_EQ(piped.wait(), failed);
    add_users({"bob", "eve"});
    EXPECT_TRUE(limited.line().starts_with("2  "));
    EXPECT_EQ(limited.line(), "");
    EXPECT_EQ(limited.wait(), done);
}

}  // namespace
}  // namespace latchkey::cli
