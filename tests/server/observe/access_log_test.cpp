#include "server/observe/access_log.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace latchkey::server {
namespace {

std::string contents(std::filesystem::path const& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct temp_folder {
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("access-log-" + std::to_string(::getpid()));
    temp_folder() { std::filesystem::create_directory(folder); }
    ~temp_folder() { std::filesystem::remove_all(folder); }
};

// Regression: a log thread that had to wait left the process larger by megabytes for good.
TEST(access_log, keeps_no_buffer_that_a_burst_made_large) {
    temp_folder temp;
    auto log = log_thread::open(temp.folder / "access.log").value();
    std::string lines;
    for (int i = 0; i < 20; ++i) {
        lines.assign(4 * log_buffer_bytes, 'x');
        log->submit(lines);
        EXPECT_LE(lines.capacity(), 2 * log_batch_bytes);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until it was written
    }
}

TEST(access_log, writes_lines_in_order_and_returns_buffers) {
    temp_folder temp;
    auto const path = temp.folder / "access.log";
    {
        auto log = log_thread::open(path).value();
        std::string lines;
        for (int i = 0; i < 1000; ++i) {
            lines = std::to_string(i) + "\n";
            log->submit(lines);
            EXPECT_TRUE(lines.empty());
        }
    }
    auto const text = contents(path);
    EXPECT_TRUE(text.starts_with("0\n1\n2\n"));
    EXPECT_TRUE(text.ends_with("998\n999\n"));
    struct stat status{};
    ::stat(path.c_str(), &status);
    EXPECT_EQ(status.st_mode & 0007, 0u) << "others may not read it";
}

// Larger than a page of the file, and mostly unaligned at both ends.
std::vector<std::string> large_batches() {
    std::vector<std::string> batches(24);
    int number = 0;
    for (std::size_t i = 0; i < batches.size(); ++i)
        while (batches[i].size() < 40'000 + 7'001 * i)
            batches[i] += std::to_string(number++) + "\n";
    return batches;
}

TEST(access_log, loses_nothing_of_uncached_writes) {
    temp_folder temp;
    auto const path = temp.folder / "access.log";
    std::string expected = "from before\n";
    std::ofstream(path) << expected;
    {
        auto log = log_thread::open(path).value();
        for (auto lines : large_batches()) {
            expected += lines + "short\n";
            log->submit(lines);
            lines = "short\n";
            log->submit(lines);
        }
        EXPECT_EQ(log->dropped(), 0u);
    }
    EXPECT_TRUE(contents(path) == expected);
}

TEST(access_log, writes_large_batches_to_a_pipe_too) {
    temp_folder temp;
    auto const path = temp.folder / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::string expected, received;
    std::thread reader([&] { received = contents(path); });
    {
        auto log = log_thread::open(path).value();
        for (auto lines : large_batches()) {
            expected += lines;
            log->submit(lines);
        }
    }
    reader.join();
    EXPECT_TRUE(received == expected);
}

TEST(access_log, continues_in_a_new_file_after_the_old_one_was_moved_away) {
    temp_folder temp;
    auto const path = temp.folder / "access.log";
    {
        auto log = log_thread::open(path).value();
        std::string lines = "before\n";
        log->submit(lines);
        for (int i = 0; i < 1000 && contents(path).empty(); ++i) ::usleep(1000);
        std::filesystem::rename(path, temp.folder / "access.log.1");
        ASSERT_TRUE(log->reopen(path));
        for (int i = 0; i < 1000 && !std::filesystem::exists(path); ++i) ::usleep(1000);
        lines = "after\n";
        log->submit(lines);
    }
    EXPECT_EQ(contents(temp.folder / "access.log.1"), "before\n");
    EXPECT_EQ(contents(path), "after\n");
}

TEST(access_log, switches_to_another_file_and_keeps_the_old_one_when_it_cannot) {
    temp_folder temp;
    auto const first = temp.folder / "first.log", second = temp.folder / "second.log";
    {
        auto log = log_thread::open(first).value();
        std::string lines = "one\n";
        log->submit(lines);
        EXPECT_FALSE(log->reopen("/nowhere/access.log"));
        lines = "two\n";
        log->submit(lines);
        ASSERT_TRUE(log->reopen(second));
        lines = "three\n";
        log->submit(lines);
        ASSERT_TRUE(log->reopen(""));
        EXPECT_FALSE(log->enabled());
    }
    EXPECT_EQ(contents(first), "one\ntwo\n");
    EXPECT_EQ(contents(second), "three\n");
}

TEST(access_log, can_be_enabled_later) {
    temp_folder temp;
    auto const path = temp.folder / "access.log";
    {
        auto log = log_thread::open("").value();
        EXPECT_FALSE(log->enabled());
        ASSERT_TRUE(log->reopen(path));
        EXPECT_TRUE(log->enabled());
        std::string lines = "line\n";
        log->submit(lines);
    }
    EXPECT_EQ(contents(path), "line\n");
}

TEST(access_log, counts_lines_that_a_full_disk_refuses) {
    auto log = log_thread::open("/dev/full").value();
    std::string lines = "lost\nlost too\n";
    log->submit(lines);
    for (int i = 0; i < 2000 && log->dropped() == 0; ++i) ::usleep(1000);
    EXPECT_EQ(log->dropped(), 2u) << "in entries";
}

TEST(access_log, counts_a_large_batch_that_a_full_disk_refuses) {
    auto log = log_thread::open("/dev/full").value();
    auto lines = large_batches().back();
    auto const count = static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    log->submit(lines);
    for (int i = 0; i < 2000 && log->dropped() == 0; ++i) ::usleep(1000);
    EXPECT_EQ(log->dropped(), count);
}

TEST(access_log, names_the_file_that_cannot_be_opened) {
    auto const log = log_thread::open("/nowhere/access.log");
    ASSERT_FALSE(log);
    EXPECT_NE(log.error().message.find("/nowhere/access.log"), std::string::npos);
}

TEST(access_log_lines, are_json_whatever_the_client_sends) {
    log_entry entry;
    entry.begin("GET", "/users/\"\\", "agent\x01\xff\"", {0, 0});
    entry.status = 404;
    entry.code = base::problem::route_not_found;
    entry.bytes_in = 10, entry.bytes_out = 20;
    entry.request_id = "req_x";
    entry.refused_unparsed = true;
    std::string line;
    append_line(entry, nullptr, {}, 1'234'567, line);
    EXPECT_EQ(line.find('\x01'), std::string::npos);
    EXPECT_EQ(line.find('\xff'), std::string::npos) << "a log line is valid UTF-8";
    EXPECT_NE(line.find(R"("path":"/users/\"\\")"), std::string::npos) << line;
    EXPECT_NE(
        line.find(
            R"("status":404,"code":"route_not_found","bytes_in":10,"bytes_out":20,"duration_us":1234)"),
        std::string::npos)
        << line;
    EXPECT_TRUE(line.ends_with("}\n"));
}

// A terminal that shows the log would interpret C1 controls and bidirectional overrides of a
// client.
TEST(access_log_lines, escape_control_characters_of_a_client) {
    log_entry entry;
    entry.begin("GET", "/",
                "a\xc2\x9b"
                "2J\xe2\x80\xae"
                "b\xe2\x80\xa8\xe2\x81\xa6"
                "c\x9b\xc3\xa9",
                {0, 0});
    std::string line;
    append_line(entry, nullptr, {}, 0, line);
    EXPECT_NE(line.find("\"user_agent\":\"a\\u009b2J\\u202eb\\u2028\\u2066c\xef\xbf\xbd\xc3\xa9\""),
              std::string::npos)
        << line;
}

TEST(access_log_lines, outlive_the_request_once_they_are_kept) {
    log_entry entry;
    {
        std::string method = "PATCH", path = "/api/v1/users/7", agent = "some agent";
        entry.begin(method, path, agent, {0, 0});
        entry.keep();  // its body came later
        entry.keep();  // and then it waited for a commit
        for (auto* const each : {&method, &path, &agent}) each->assign(each->size(), '#');
    }
    EXPECT_EQ(entry.method, "PATCH");
    EXPECT_EQ(entry.path, "/api/v1/users/7");
    EXPECT_EQ(entry.user_agent, "some agent");
}

}  // namespace
}  // namespace latchkey::server
