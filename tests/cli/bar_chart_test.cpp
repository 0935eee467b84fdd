// Bars in a terminal: their lengths, and what is marked in them.
#include "cli/frame/bar_chart.hpp"

#include <gtest/gtest.h>

namespace latchkey::cli {
namespace {

TEST(bar_charts, are_as_long_as_their_values) {
    std::vector<bar> const bars{{"one", 8}, {"two", 4}, {"three", 0}, {"four", 1}};
    // 5 for titles, 1 for numbers, 4 between them, 10 for bars.
    auto const lines = bar_lines(bars, 20, false);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0], "one    8  ██████████");
    EXPECT_EQ(lines[1], "two    4  █████");
    EXPECT_EQ(lines[2], "three  0  ");
    EXPECT_EQ(lines[3], "four   1  █▎");
}

TEST(bar_charts, show_the_smallest_value_and_mark_a_part) {
    auto const small = bar_lines({{"a", 1'000'000}, {"b", 1}}, 40, false);
    EXPECT_TRUE(small[0].starts_with("a  1,000,000  █"));
    EXPECT_EQ(small[1], "b          1  ▏");
    auto const marked = bar_lines({{"a", 10, 5}}, 17, false);
    EXPECT_EQ(marked[0], "a  10  █████░░░░░");
    auto const red = bar_lines({{"a", 10, 5}}, 17, true);
    EXPECT_EQ(red[0], "a  10  █████\x1b[31m█████\x1b[0m");
}

TEST(bar_charts, of_nothing_have_no_bar) {
    EXPECT_TRUE(bar_lines({}, 80, false).empty());
    EXPECT_EQ(bar_lines({{"a", 0}}, 80, false)[0], "a  0  ");
}

}  // namespace
}  // namespace latchkey::cli
