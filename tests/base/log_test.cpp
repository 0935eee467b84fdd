// The service's own messages: their two forms, their levels, and where the style comes from.
#include "base/system/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>

#include "base/system/descriptor.hpp"
#include "base/system/write_now.hpp"

namespace latchkey::base {
namespace {

struct log_messages : ::testing::Test {
    void TearDown() override {
        set_log_style({});
        ::unsetenv("LATCHKEY_LOG_FORMAT");
        ::unsetenv("LATCHKEY_LOG_LEVEL");
    }
    static std::string written(severity level, std::string_view sentence) {
        ::testing::internal::CaptureStderr();
        log(level, sentence);
        return ::testing::internal::GetCapturedStderr();
    }
};

TEST_F(log_messages, are_lines_of_text) {
    EXPECT_EQ(written(severity::info, "started"), "latchkey: started\n");
    EXPECT_EQ(written(severity::warning, "a\nb"), "latchkey: warning: a\\u000ab\n");
    EXPECT_EQ(written(severity::failure, "no"), "latchkey: error: no\n");
}

TEST_F(log_messages, are_json_objects_by_choice) {
    set_log_style({.json = true});
    EXPECT_TRUE(std::regex_match(
        written(severity::warning, R"(cannot open "a\b")"),
        std::regex(R"(\{"ts":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","level":"warning",)"
                   R"("message":"cannot open \\"a\\\\b\\""\}\n)")));
    // Control characters stay escaped as in text, so the line is one object for any reader.
    EXPECT_NE(written(severity::info, "a\nb\x1b").find(R"("a\\u000ab\\u001b")"), std::string::npos);
}

TEST_F(log_messages, below_the_level_are_not_written) {
    set_log_style({.least = severity::warning});
    EXPECT_EQ(written(severity::info, "started"), "");
    EXPECT_NE(written(severity::warning, "odd"), "");
    set_log_style({.json = true, .least = severity::failure});
    EXPECT_EQ(written(severity::warning, "odd"), "");
    EXPECT_NE(written(severity::failure, "no").find(R"("level":"error")"), std::string::npos);
}

TEST_F(log_messages, pass_their_style_on_to_helper_processes) {
    EXPECT_FALSE(log_style_of_environment().json);
    set_log_style({.json = true, .least = severity::failure});
    put_log_style_into_environment();
    set_log_style({});
    auto const style = log_style_of_environment();
    EXPECT_TRUE(style.json);
    EXPECT_EQ(style.least, severity::failure);
    ::setenv("LATCHKEY_LOG_LEVEL", "loud", 1);
    EXPECT_EQ(log_style_of_environment().least, severity::info)
        << "what is no level counts as none";
}

// Everything that a descriptor has, without waiting for more.
std::string drained(int number) {
    std::string text;
    char part[4096];
    ::fcntl(number, F_SETFL, O_NONBLOCK);
    for (ssize_t size; (size = ::read(number, part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(size));
    return text;
}

// The last test of its process that logs: it cannot be taken back.
TEST_F(log_messages, that_nobody_reads_are_counted_and_not_waited_for) {
    drop_unread_messages();
    for (bool const is_socket : {false, true}) {
        int pair[2];
        ASSERT_EQ(is_socket ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) : ::pipe(pair), 0);
        descriptor const reader(pair[is_socket ? 1 : 0]), writer(pair[is_socket ? 0 : 1]);
        std::string const filling(64 * 1024, '-');
        while (write_now(writer.get(), filling) > 0) {
        }
        EXPECT_EQ(errno, EAGAIN);
        EXPECT_EQ(::fcntl(writer.get(), F_GETFL) & O_NONBLOCK, 0) << "others share it";
        descriptor const own(::dup(STDERR_FILENO));
        ::dup2(writer.get(), STDERR_FILENO);
        for (int i = 0; i < 3; ++i) log(severity::info, "unread");
        auto const earlier = drained(reader.get());
        log(severity::info, "read");
        ::dup2(own.get(), STDERR_FILENO);
        EXPECT_EQ(earlier.find("unread"), earlier.npos);
        EXPECT_EQ(drained(reader.get()),
                  "latchkey: warning: 3 messages were lost, because standard error was not "
                  "read\nlatchkey: read\n");
    }
}

TEST(severities, have_names) {
    for (auto const level : {severity::info, severity::warning, severity::failure})
        EXPECT_EQ(find_severity(name_of(level)), level);
    EXPECT_EQ(find_severity("failure"), std::nullopt);
}

}  // namespace
}  // namespace latchkey::base
