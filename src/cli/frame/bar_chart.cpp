#include "cli/frame/bar_chart.hpp"

#include <algorithm>
#include <cstdio>

#include "base/visible.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/progress.hpp"
#include "model/utf8.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t columns_max = 200;
constexpr std::uint64_t eighths = 8;
constexpr char const* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::string padded(std::string const& text, std::size_t width) {
    auto const points = model::code_point_count(text);
    return points < width ? text + std::string(width - points, ' ') : text;
}

std::string repeated(std::string_view text, std::uint64_t count) {
    std::string result;
    for (std::uint64_t i = 0; i < count; ++i) result += text;
    return result;
}

// A bar of `length` eighths of a column, the last `marked` of them marked in whole columns.
std::string drawn(std::uint64_t length, std::uint64_t marked, bool coloured) {
    auto const marked_columns = std::min((marked + eighths / 2) / eighths, length / eighths);
    auto const rest = length - marked_columns * eighths;
    auto text = repeated("█", rest / eighths);
    if (marked_columns == 0) return text + parts[rest % eighths];
    auto const end = repeated(coloured ? "█" : "░", marked_columns);
    return text + (coloured ? "\x1b[31m" + end + "\x1b[0m" : end);
}

}  // namespace

std::vector<std::string> bar_lines(std::vector<bar> const& bars, std::size_t columns,
                                   bool coloured) {
    std::size_t title_width = 0, number_width = 0;
    std::uint64_t largest = 1;
    for (auto const& each : bars) {
        title_width = std::max(title_width, model::code_point_count(base::visible(each.title)));
        number_width = std::max(number_width, with_commas(each.value).size());
        largest = std::max(largest, each.value);
    }
    auto const text_width = title_width + number_width + 4;
    auto const width = eighths * (columns > text_width + 8 ? columns - text_width : 8);
    std::vector<std::string> lines;
    for (auto const& each : bars) {
        auto const scaled = [&](std::uint64_t value) {
            return static_cast<std::uint64_t>(static_cast<double>(value) /
                                                  static_cast<double>(largest) *
                                                  static_cast<double>(width) +
                                              0.5);
        };
        // A value above zero has a bar of one cell at least.
        auto const length = each.value == 0 ? 0 : std::max<std::uint64_t>(scaled(each.value), 1);
        auto const number = with_commas(each.value);
        lines.push_back(padded(base::visible(each.title), title_width) + "  " +
                        std::string(number_width - number.size(), ' ') + number + "  " +
                        drawn(length, scaled(each.marked), coloured));
    }
    return lines;
}

void print_bars(std::vector<bar> const& bars) {
    for (auto const& line : bar_lines(bars, terminal_columns(columns_max), has_colours()))
        std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
}

}  // namespace latchkey::cli
