// Finds the word of a command line that no command understands, and the nearest word that would be
// understood. Pure functions over the tables of CLI11; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/cli11_names.hpp"

namespace latchkey::cli {

// The candidate that is nearest (base/nearest.hpp), dashes at the front not counted, or those that
// the word abbreviates, if these are few.
std::vector<std::string> near_words(std::string_view word,
                                    std::vector<std::string> const& candidates);

std::string full_name(CLI::App const& command);  // "latchkey keys create"
// The command that the words named before they went wrong.
CLI::App& deepest(CLI::App& command);

// After a parse that failed: a sentence about the first word that was not understood, or about the
// command that is missing. Empty: the parse failed for another reason, which CLI11 says.
std::string explain_unknown(CLI::App& program);

}  // namespace latchkey::cli
