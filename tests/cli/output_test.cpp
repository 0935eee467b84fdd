// Output that cannot be written, of commands and of a report.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "cli/data/bad_lines.hpp"
#include "cli/frame/standard_output.hpp"
#include "command_fixture.hpp"

namespace latchkey::cli {
namespace {

struct output : command_test {
    // With a standard output whose disk is full; what else would be printed are the messages.
    command_result run_full(std::vector<std::string> words) {
        testing::internal::CaptureStderr();
        std::fflush(stdout);
        int const saved = ::dup(STDOUT_FILENO), full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
        ::dup2(full, STDOUT_FILENO);
        command_result result{.code = execute(std::move(words)), .output = {}, .messages = {}};
        ::dup2(saved, STDOUT_FILENO);
        ::close(saved);
        ::close(full);
        result.messages = testing::internal::GetCapturedStderr();
        return result;
    }
    void expect_lost(std::vector<std::string> const& words, std::vector<std::string> const& parts) {
        auto const result = run_full(words);
        EXPECT_EQ(result.code, failed) << words.front() << " " << words.back();
        EXPECT_TRUE(has(result.messages, "cannot write to standard output")) << result.messages;
        for (auto const& part : parts) EXPECT_TRUE(has(result.messages, part)) << result.messages;
        EXPECT_FALSE(has(result.messages, "whsec_")) << result.messages;
    }
};

TEST_F(output, that_is_lost_is_an_error_and_says_what_was_made) {
    std::vector<std::string> const key{"keys",    "create",     "--name", "first",
                                       "--scope", "keys:write", "--json"};
    expect_lost(key, {"; but key 1 was made", "latchkey keys rotate 1", "keys deactivate 1"});
    auto text = key;
    text.pop_back();
    expect_lost(text, {"; but key 2 was made"});
    expect_lost({"keys", "rotate", "1"}, {"; but key 3 was made", "latchkey keys rotate 3"});
    expect_lost({"keys", "deactivate", "2", "--json"}, {"; but key 2 is deactivated"});
    expect_lost({"webhooks", "create", "https://hooks.example.com/in"},
                {"; but webhook 1 was made", "webhooks rotate-secret 1", "webhooks delete 1"});
    expect_lost({"webhooks", "rotate-secret", "1", "--json"}, {"webhooks rotate-secret 1"});
    expect_lost({"webhooks", "delete", "1", "--json"}, {"; but webhook 1 is gone"});
    expect_lost({"events", "secret", "set", "shop"},
                {"; but the source shop must sign", "events secret delete shop"});
    expect_lost({"seed", "--users", "2", "--posts", "0", "--json", "--quiet"},
                {"; but what was loaded is in the store"});
    for (auto const& words : std::vector<std::vector<std::string>>{
             {"keys", "list"}, {"keys", "show", "1"}, {"audit"}, {"changes"}})
        expect_lost(words, {});
    EXPECT_EQ(run({"keys", "list"}).code, done) << "and is forgotten with the command";
}

TEST_F(output, of_a_report_that_cannot_be_written_is_an_error) {
    auto report = bad_lines::begin(folder_ + "/report", false, false).value();
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit saved{};
    ::getrlimit(RLIMIT_FSIZE, &saved);
    auto small = saved;
    small.rlim_cur = 10;
    ::setrlimit(RLIMIT_FSIZE, &small);
    progress bar("users", 1, progress::form::none);
    report.add("users", 1, base::problem::invalid_json, "it is too long", {}, bar);
    ::setrlimit(RLIMIT_FSIZE, &saved);
    auto const end = report.end();
    ASSERT_FALSE(end);
    EXPECT_TRUE(has(end.error().message, "the report is not whole"));
}

}  // namespace
}  // namespace latchkey::cli
