// What the service takes from the folder with client libraries.
#include "server/client_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace latchkey::server {
namespace {

struct client_folders : ::testing::Test {
    std::string folder = ::testing::TempDir() + "client-folder-" + std::to_string(::getpid());
    api::client_kind const& npm = api::client_kinds[0];
    api::client_kind const& pip = api::client_kinds[1];

    void SetUp() override {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::string path_of(std::string_view name) const { return folder + "/" + std::string(name); }
    void write(std::string_view name, std::string const& bytes) const {
        std::ofstream(path_of(name), std::ios::binary) << bytes;
    }
};

TEST_F(client_folders, give_the_packages_of_this_version_whole) {
    std::string const bytes("\0\x1f\n", 3);
    write(npm.name, bytes);
    write("latchkey-client-0.0.1.tgz", "another version");
    write("index", "another file");
    auto packages = read_client_folder(folder);
    ASSERT_EQ(packages.size(), 1u);
    EXPECT_EQ(packages[0].kind, &npm);
    EXPECT_EQ(packages[0].bytes, bytes);

    write(pip.name, std::string(1 << 20, 'a'));
    packages = read_client_folder(folder);
    ASSERT_EQ(packages.size(), 2u);
    EXPECT_EQ(packages[1].kind, &pip);
    EXPECT_EQ(packages[1].bytes.size(), std::size_t{1} << 20);
}

TEST_F(client_folders, give_nothing_that_cannot_be_read_whole) {
    write(npm.name, std::string((1 << 20) + 1, 'a'));
    std::filesystem::create_directory(path_of(pip.name));
    testing::internal::CaptureStderr();
    EXPECT_TRUE(read_client_folder(folder).empty());
    auto const log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find(std::string(npm.name) + " has more than 1 MiB"), log.npos) << log;
    EXPECT_NE(log.find("cannot read " + path_of(pip.name)), log.npos) << log;
}

TEST_F(client_folders, may_be_absent_or_not_wanted) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(read_client_folder(folder + "/absent").empty());
    EXPECT_TRUE(read_client_folder("").empty());
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace latchkey::server
