// Horizontal bars in a terminal, of block characters (U+2588 to U+258F) of an eighth of a column
// each, so that small differences are seen. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace latchkey::cli {

struct bar {
    std::string title;
    std::uint64_t value = 0;
    std::uint64_t marked = 0;  // the part of the value that was refused: drawn at the bar's end
};

// The lines, no wider than `columns`; the longest bar is that of the largest value. `coloured`: the
// marked part is red, else it is drawn with '░'.
std::vector<std::string> bar_lines(std::vector<bar> const& bars, std::size_t columns,
                                   bool coloured);

// Prints them, as wide as the terminal, or 80 columns where there is none.
void print_bars(std::vector<bar> const& bars);

}  // namespace latchkey::cli
