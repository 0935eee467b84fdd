// Which copy of a node's data directory is which.
#include "server/process/node_instance.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace latchkey::server {
namespace {

struct node_instances : ::testing::Test {
    std::string folder = ::testing::TempDir() + "node-instance-" + std::to_string(::getpid());

    void SetUp() override {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder + "/one");
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    replicate::protocol::identity of(std::string const& name, std::string_view place) const {
        return node_instance(folder + "/" + name, place).value();
    }
};

TEST_F(node_instances, stay_with_their_directory) {
    auto const original = of("one", "here 1");
    EXPECT_NE(original, replicate::protocol::identity{});
    EXPECT_EQ(of("one", "here 1"), original);
    EXPECT_EQ(of("one", ""), original) << "a place that is not known is no other one";
    EXPECT_EQ(of("one", "here 1"), original);
}

TEST_F(node_instances, differ_from_those_of_a_copy) {
    auto const original = of("one", "here 1");
    std::filesystem::copy(folder + "/one", folder + "/copy");
    auto const copied = of("copy", "here 2");
    EXPECT_NE(copied, original);
    EXPECT_EQ(of("copy", "here 2"), copied);
    EXPECT_EQ(of("one", "here 1"), original) << "the first one goes on";
}

TEST_F(node_instances, of_an_earlier_version_are_kept) {
    std::ofstream(folder + "/one/node.instance") << "0123456789abcdef";
    auto const instance = of("one", "here 1");
    EXPECT_EQ(std::string(instance.data(), instance.size()), "0123456789abcdef");
    EXPECT_EQ(of("one", "here 1"), instance);
    EXPECT_NE(of("one", "here 2"), instance);
}

TEST_F(node_instances, of_a_damaged_file_are_refused) {
    std::ofstream(folder + "/one/node.instance") << "short";
    EXPECT_FALSE(node_instance(folder + "/one", "here 1"));
}

TEST_F(node_instances, know_two_directories_of_one_machine_apart) {
    std::filesystem::create_directory(folder + "/two");
    EXPECT_EQ(place_of(folder + "/one"), place_of(folder + "/one"));
    EXPECT_NE(place_of(folder + "/one"), place_of(folder + "/two"));
    EXPECT_EQ(place_of(folder + "/three"), "");
}

}  // namespace
}  // namespace latchkey::server
