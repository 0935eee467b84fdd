#include "server/process/bucket_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace latchkey::server {
namespace {

struct bucket_file : ::testing::Test {
    std::string folder = ::testing::TempDir() + "bucket-file-test";
    std::string path = folder + "/buckets";
    limit::policy rules;

    void SetUp() override {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directory(folder);
        std::vector<model::rate_limit> const limits = {{"a", 10, 36'000, 0}};
        rules = limit::prepare(limits, std::array<std::uint8_t, 1>{0});
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    static std::unique_ptr<limit::buckets> table() { return limit::buckets::make(64).value(); }
    std::uint32_t left(limit::buckets& buckets) {
        return buckets.admit(5, rules, base::read_clocks().mono, 0).levels[0].remaining;
    }
    void save_six_left() {
        auto const saved = table();
        EXPECT_TRUE(saved->admit(5, rules, base::read_clocks().mono, 4).admitted());
        save_buckets(*saved, folder, base::read_clocks());
    }
    std::uint32_t left_after_restore() {
        auto const restored = table();
        restore_buckets(*restored, folder, base::read_clocks(), 0);
        return left(*restored);
    }
};

TEST_F(bucket_file, is_private_and_used_once) {
    save_six_left();
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_FALSE(std::filesystem::exists(path + ".new"));
    EXPECT_EQ(left_after_restore(), 6u);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(left_after_restore(), 10u);
}

TEST_F(bucket_file, replaces_older_ones) {
    std::ofstream(path) << "old";
    std::ofstream(path + ".new") << "half";
    save_six_left();
    EXPECT_EQ(left_after_restore(), 6u);
}

TEST_F(bucket_file, that_is_damaged_is_reported_and_removed) {
    save_six_left();
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(left_after_restore(), 10u);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("checksum"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(bucket_file, is_not_followed_to_another_file) {
    save_six_left();
    std::filesystem::rename(path, folder + "/elsewhere");
    std::filesystem::create_symlink("elsewhere", path);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(left_after_restore(), 10u);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot open it"), std::string::npos);
}

TEST_F(bucket_file, that_cannot_be_written_is_reported) {
    ::testing::internal::CaptureStderr();
    auto const saved = table();
    EXPECT_TRUE(saved->admit(5, rules, base::read_clocks().mono, 4).admitted());
    save_buckets(*saved, folder + "/absent", base::read_clocks());
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("begin anew"), std::string::npos);
}

}  // namespace
}  // namespace latchkey::server
