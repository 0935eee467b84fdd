// Finds the word of a command line that no command understands, and the nearest word that would be
// understood. Pure functions over the tables of CLI11; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/cli11_names.hpp"

namespace latchkey::cli {

// Insertions, deletions, substitutions and swaps of neighbours that make one text of the other
// (optimal string alignment).
std::size_t edit_distance(std::string_view left, std::string_view right);

// The candidate with the smallest distance, dashes at the front not counted; empty: none is near,
// which is a third of the word's length and at least 1.
std::string nearest(std::string_view word, std::vector<std::string> const& candidates);

std::string full_name(CLI::App const& command);  // "latchkey keys create"
// The command that the words named before they went wrong.
CLI::App& deepest(CLI::App& command);

// After a parse that failed: a sentence about the first word that was not understood, or about the
// command that is missing. Empty: the parse failed for another reason, which CLI11 says.
std::string explain_unknown(CLI::App& program);

}  // namespace latchkey::cli
