#include "server/observe/access_log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "../running_worker.hpp"
#include "../socket_client.hpp"
#include "base/system/descriptor.hpp"

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

// A pipe whose reader has stopped reading.
TEST(access_log, leaves_a_full_pipe_for_another_file_and_for_its_end) {
    temp_folder temp;
    auto const path = temp.folder / "pipe", next = temp.folder / "next.log";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    log_thread::open(path).value();  // neither begins nor ends with a reader
    base::descriptor const reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
    {
        auto log = log_thread::open(path).value();
        for (auto lines : large_batches()) log->submit(lines);
        ASSERT_TRUE(log->reopen(next));
        std::string lines = "after\n";
        log->submit(lines);
        for (int i = 0; i < 10'000 && contents(next).empty(); ++i) ::usleep(1000);
        EXPECT_EQ(contents(next), "after\n");
        EXPECT_GT(log->dropped(), 0u);
        ASSERT_TRUE(log->reopen(path));
        for (auto batch : large_batches()) log->submit(batch);
    }
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

// A disk that becomes full takes a part of a line. Only that line is broken, even if the disk stays
// full for a while.
TEST(access_log, begins_a_new_line_after_one_that_was_cut) {
    temp_folder temp;
    auto const path = temp.folder / "access.log";
    rlimit unlimited{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    auto const handler = ::signal(SIGXFSZ, SIG_IGN);
    {
        auto log = log_thread::open(path).value();
        rlimit const cut{12, unlimited.rlim_max};
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &cut), 0);
        std::string lines = "first..\nsecond.\n";
        log->submit(lines);
        for (int i = 0; i < 2000 && log->dropped() < 1; ++i) ::usleep(1000);
        lines = "lost...\n";
        log->submit(lines);
        for (int i = 0; i < 2000 && log->dropped() < 2; ++i) ::usleep(1000);
        ::setrlimit(RLIMIT_FSIZE, &unlimited);
        EXPECT_EQ(log->dropped(), 2u);
        lines = "third..\n";
        log->submit(lines);
    }
    ::signal(SIGXFSZ, handler);
    EXPECT_EQ(contents(path), "first..\nseco\nthird..\n");
}

TEST(access_log, keeps_no_more_than_16_mib_for_a_disk_that_does_not_answer) {
    temp_folder temp;
    auto const path = temp.folder / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    base::descriptor const reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    auto log = log_thread::open(path).value();
    std::string const batch(1 << 20, 'x');
    for (int i = 0; i < 20; ++i) {
        auto lines = batch.substr(0, batch.size() - 1) + '\n';
        log->submit(lines);
    }
    EXPECT_EQ(log->dropped(), 4u);
    std::atomic<bool> at_end{false};
    std::thread drain([&] {
        std::string bytes(1 << 20, ' ');
        while (!at_end)
            if (::read(reader.get(), bytes.data(), bytes.size()) <= 0) ::usleep(100);
    });
    log.reset();
    at_end = true;
    drain.join();
}

TEST(access_log, names_the_file_that_cannot_be_opened) {
    auto const log = log_thread::open("/nowhere/access.log");
    ASSERT_FALSE(log);
    EXPECT_NE(log.error().message.find("/nowhere/access.log"), std::string::npos);
}

}  // namespace
}  // namespace latchkey::server
