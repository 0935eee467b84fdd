// Output for people: keys, tables, times.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/command.hpp"

namespace latchkey::cli {

// One key; `secret` is its text when it was just created, the only time that it is shown.
void print_key(store::outcome const& outcome, std::string_view secret, bool json);

// Prints records as the document of their list, on one page.
void print_page(std::vector<std::string> const& records);

// Prints rows in aligned columns; the first row is the heading.
void print_table(std::vector<std::vector<std::string>> rows);
std::string format_time(base::wall_ms time, char const* none);  // "2026-01-02 03:04:05Z"

}  // namespace latchkey::cli
