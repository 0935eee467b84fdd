// Where the records of an export and a backup go: new files of their own, whatever is in the way.
#include "cli/files/output_file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace latchkey::cli {
namespace {

namespace fs = std::filesystem;

struct output_files : testing::Test {
    output_files() {
        auto name = (fs::temp_directory_path() / "output-test-XXXXXX").string();
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        folder = name;
        path = folder + "/users";
    }
    ~output_files() override { fs::remove_all(folder); }

    static void put(std::string const& file, std::string const& text) {
        std::ofstream(file, std::ios::binary) << text;
    }
    static std::string text_of(std::string const& file) {
        std::ifstream input(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(input), {}};
    }
    static base::result<void> write(std::string const& file, existing_file policy) {
        auto output = output_file::create(file, policy);
        if (!output) return output.error();
        if (auto const outcome = output->write("new\n"); !outcome) return outcome;
        return output->finish();
    }

    std::string folder, path;
};

TEST_F(output_files, do_not_follow_a_link_in_the_place_of_the_temporary_one) {
    put(folder + "/other", "old");
    fs::create_symlink(folder + "/other", path + ".part");
    auto const refusal = write(path, existing_file::kept);
    ASSERT_FALSE(refusal);
    EXPECT_NE(refusal.error().message.find(".part is in the way"), std::string::npos);
    EXPECT_EQ(text_of(folder + "/other"), "old");
    EXPECT_TRUE(fs::is_symlink(path + ".part"));
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(output_files, take_no_file_of_another_user) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
    put(path + ".part", "old");
    ASSERT_EQ(::chown((path + ".part").c_str(), 4711, 4711), 0);
    EXPECT_FALSE(write(path, existing_file::kept));
    EXPECT_EQ(text_of(path + ".part"), "old");
}

TEST_F(output_files, are_made_anew_after_an_interruption_and_are_private) {
    put(path + ".part", "half");
    ::chmod((path + ".part").c_str(), 0666);
    ASSERT_TRUE(write(path, existing_file::kept));
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_EQ(text_of(path), "new\n");
    EXPECT_FALSE(fs::exists(path + ".part"));
}

TEST_F(output_files, never_become_those_of_another_command) {
    auto first = output_file::create(path, existing_file::replaced);
    ASSERT_TRUE(first);
    ASSERT_TRUE(first->write("first"));
    auto second = output_file::create(path, existing_file::replaced);
    ASSERT_TRUE(second);
    EXPECT_FALSE(first->finish());
    ASSERT_TRUE(second->write("second"));
    ASSERT_TRUE(second->finish());
    EXPECT_EQ(text_of(path), "second");
}

TEST_F(output_files, are_written_into_where_they_are_no_regular_files) {
    auto const pipe = folder + "/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    auto const reader = base::open_file(pipe, O_RDWR);
    fs::create_symlink(pipe, path);
    for (auto const& each : {pipe, path}) {
        EXPECT_FALSE(write(each, existing_file::kept_without_force));
        ASSERT_TRUE(write(each, existing_file::replaced));
        char text[8];
        EXPECT_EQ(std::string_view(
                      text, static_cast<std::size_t>(::read(reader.get(), text, sizeof text))),
                  "new\n");
    }
    EXPECT_TRUE(fs::is_fifo(pipe));
    EXPECT_TRUE(fs::is_symlink(path));
    EXPECT_TRUE(write("/dev/null", existing_file::replaced));
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(output_files, are_not_written_through_links) {
    put(folder + "/other", "old");
    for (auto const* const target : {"/other", "/missing"}) {
        fs::remove(path);
        fs::create_symlink(folder + target, path);
        for (auto const policy : {existing_file::kept, existing_file::replaced})
            EXPECT_FALSE(write(path, policy));
        EXPECT_TRUE(fs::is_symlink(path));
    }
    EXPECT_EQ(text_of(folder + "/other"), "old");
    EXPECT_FALSE(fs::exists(folder + "/missing"));
}

}  // namespace
}  // namespace latchkey::cli
