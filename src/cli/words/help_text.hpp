// What `--help` prints, made from the table of commands: what a command has of its own comes first,
// the options of all commands on a store last. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/cli11_names.hpp"

namespace latchkey::cli {

// Lines of at most `columns` code points, but for words that are longer.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

std::string help_text(CLI::App const& command, std::size_t columns);

inline constexpr std::size_t help_columns_max = 100;  // longer lines are hard to read

}  // namespace latchkey::cli
