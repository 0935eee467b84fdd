// Output for people: keys, tables, times. Headings and states are coloured on a terminal alone, and
// not where NO_COLOR is set (https://no-color.org).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "cli/frame/json.hpp"

namespace latchkey::cli {

// One key, of its document in the API; that which was just made has its text in `key`, the only
// time that it is shown. `with_settings`: also its expiry, limits and addresses.
void print_key(std::string const& document, bool json, bool with_settings = false);

// Warns, where the document has `effective_by`, that a node of the cluster may until then accept a
// key that was turned off (api.md §15).
void warn_of_delay(json_object const& document);

// Prints records as the document of their list, on one page.
void print_page(std::vector<std::string> const& records);

// Prints rows in aligned columns; the first row is the heading.
void print_table(std::vector<std::vector<std::string>> rows);
// Prints the next rows of a table that comes in parts, of which the first has the heading. A column
// is as wide as in the parts before, at least.
void print_part(std::vector<std::vector<std::string>> rows, std::vector<std::size_t>& widths);

// A column whose cells may be shortened, to `least` code points.
struct flexible_column {
    std::size_t number, least;
};
// Shortens cells of these columns, those of the widest first, until a row takes `columns` at most.
void fit_columns(std::vector<std::vector<std::string>>& rows, std::size_t columns,
                 std::span<flexible_column const> flexible);
// Prints rows of a name and a value.
void print_record(std::vector<std::vector<std::string>> rows);
std::string format_time(base::wall_ms time, char const* none);  // "2026-01-02 03:04:05Z"

// "1 post", "1,234 posts"; `plural` where it is not the noun with an s.
std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural = {});

// May standard output be coloured?
bool has_colours();
// The width of the terminal that standard output is, at most `most`; 80 where it is none.
std::size_t terminal_columns(std::size_t most);

}  // namespace latchkey::cli
