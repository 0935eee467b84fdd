// What the system says of this process, and what backups left in the data directory.
#include "server/observe/process_stats.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/system/descriptor.hpp"
#include "server/observe/operation_times.hpp"

namespace latchkey::server {
namespace {

TEST(process_stats, are_those_of_this_process) {
    process_stats const stats;
    auto const first = stats.read();
    ASSERT_TRUE(first);
    EXPECT_GT(first->resident_bytes, 1u << 20);
    EXPECT_GT(first->virtual_bytes, first->resident_bytes);
    EXPECT_EQ(first->descriptors_max, static_cast<std::uint64_t>(::sysconf(_SC_OPEN_MAX)));
    {
        std::vector<base::descriptor> more;
        for (int i = 0; i < 5; ++i) more.push_back(base::open_file("/dev/null", O_RDONLY));
        EXPECT_EQ(stats.read()->open_descriptors, first->open_descriptors + 5);
    }
    // Of the processor's time, since others may have the processor: more than a clock tick.
    auto const start = std::clock();
    while (std::clock() - start < CLOCKS_PER_SEC / 20) {
    }
    auto const last = stats.read();
    EXPECT_EQ(last->open_descriptors, first->open_descriptors);
    EXPECT_GT(last->cpu_seconds, first->cpu_seconds);
    EXPECT_LT(last->cpu_seconds, first->cpu_seconds + 10);
}

TEST(process_stats, read_the_fields_behind_any_name) {
    auto const numbers = parse_stat(
        "42 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 4096000 77 "
        "18446744073709551615 "
        "1 1");
    ASSERT_TRUE(numbers);
    EXPECT_EQ(numbers->ticks, 11u + 12u);
    EXPECT_EQ(numbers->virtual_bytes, 4'096'000u);
    EXPECT_EQ(numbers->resident_pages, 77u);
    EXPECT_FALSE(parse_stat(""));
    EXPECT_FALSE(parse_stat("42 (a) S 1 2 3"));
}

TEST(backup_note, keeps_the_last_success) {
    auto const folder = ::testing::TempDir() + "backup-note-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    EXPECT_FALSE(read_backup_note(folder));
    ASSERT_TRUE(write_backup_note(folder, false, 5));
    EXPECT_FALSE(read_backup_note(folder)->succeeded);
    EXPECT_EQ(read_backup_note(folder)->success_at, 0);
    ASSERT_TRUE(write_backup_note(folder, true, 1'767'323'045'678));
    EXPECT_TRUE(read_backup_note(folder)->succeeded);
    ASSERT_TRUE(write_backup_note(folder, false, 1'767'323'045'999));
    EXPECT_FALSE(read_backup_note(folder)->succeeded);
    EXPECT_EQ(read_backup_note(folder)->success_at, 1'767'323'045'678);
    for (auto const* const text : {"", "ok", "ok x", "fine 5"}) {
        std::ofstream(folder + "/backup.state", std::ios::trunc) << text;
        EXPECT_FALSE(read_backup_note(folder)) << text;
    }
    EXPECT_FALSE(write_backup_note(folder + "/none", true, 5));
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace latchkey::server
