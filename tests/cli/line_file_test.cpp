#include "cli/files/line_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/frame/progress.hpp"

namespace latchkey::cli {
namespace {

struct file {
    std::string path = (std::filesystem::temp_directory_path() /
                        ("lines-" + std::to_string(::getpid()) + ".ndjson"))
                           .string();
    explicit file(std::string const& text) { std::ofstream(path, std::ios::binary) << text; }
    ~file() { std::filesystem::remove(path); }
};

std::vector<std::string> read_all(line_file& input) {
    std::vector<std::string> lines;
    while (auto const line = input.next())
        lines.push_back(input.too_long() ? "too long" : std::string(*line));
    EXPECT_FALSE(input.failure());
    return lines;
}

TEST(line_files, give_lines_from_any_offset) {
    file const text("one\n\ntwo\r\nthree");
    auto lines = line_file::open(text.path);
    ASSERT_TRUE(lines);
    EXPECT_EQ(read_all(*lines), (std::vector<std::string>{"one", "", "two\r", "three"}));
    EXPECT_EQ(lines->offset(), lines->size());
    ASSERT_TRUE(lines->seek(4));
    EXPECT_EQ(read_all(*lines), (std::vector<std::string>{"", "two\r", "three"}));
    ASSERT_TRUE(lines->seek(lines->size()));
    EXPECT_TRUE(read_all(*lines).empty());
}

TEST(line_files, skip_lines_beyond_the_limit) {
    std::string const long_line(line_file::line_bytes_max + 1, 'x');
    std::string const endless(9 << 20, 'y');
    file const text("a\n" + long_line + "\nb\n" + endless + "\nc\n" + endless);
    auto lines = line_file::open(text.path);
    ASSERT_TRUE(lines);
    EXPECT_EQ(read_all(*lines),
              (std::vector<std::string>{"a", "too long", "b", "too long", "c", "too long"}));
    EXPECT_EQ(lines->offset(), lines->size());
}

TEST(line_files, are_identified_by_content_and_report_the_highest_id) {
    std::string content;
    for (int i = 1; i <= 300'000; ++i)
        content += "{\"id\":" + std::to_string(i) + ",\"name\":\"a name\"}\n";
    line_file::scan_result first, same, other;
    {
        file const text(content);
        auto lines = line_file::open(text.path);
        first = *lines->scan();
        same = *lines->scan();
        EXPECT_EQ(read_all(*lines).size(), 300'000u);
    }
    EXPECT_EQ(first.highest_id, 300'000);
    EXPECT_EQ(first.hash, same.hash);
    content[content.size() / 2] ^= 1;
    file const text(content);
    other = *line_file::open(text.path)->scan();
    EXPECT_NE(first.hash, other.hash);
    EXPECT_FALSE(line_file::open("/nowhere/at/all"));
    EXPECT_TRUE(line_file::open("/dev/null"));
}

TEST(ids_on_lines, are_numbers_after_their_name) {
    EXPECT_EQ(guess_id(R"({"id":17,"name":"x"})"), 17);
    EXPECT_EQ(guess_id(R"({"name":"x" , "id" : 18})"), 18);
    for (auto const* const line :
         {"", "{}", R"({"id":"7"})", R"({"id":-7})", R"({"id")", R"("id":)", R"({"user_id":9})",
          R"({"id":99999999999999999999})"})
        EXPECT_EQ(guess_id(line), 0) << line;
}

TEST(progress_lines, show_part_and_remaining_time) {
    EXPECT_EQ(progress::line_of("users", 0.5, 1'234'567, 93'100.4, 63, true),
              "users  [############............]  50 %  1,234,567  93,100/s  1:03 left");
    EXPECT_EQ(progress::line_of("posts", 1, 999, 1000, 0, false), "posts  100 %  999  1,000/s");
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(1'000), "1,000");
}

}  // namespace
}  // namespace latchkey::cli
