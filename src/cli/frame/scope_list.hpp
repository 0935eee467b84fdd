// Scopes on the command line: one at a time, or several with commas between them. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/cli11_names.hpp"

namespace latchkey::cli {

// The type of these options, by which completions know that scopes are meant.
inline constexpr std::string_view scope_type = "SCOPE,...";

// Adds `--scope`, which may also be written `--scopes`.
void add_scopes(CLI::App& command, std::vector<std::string>& scopes, std::string const& help);

}  // namespace latchkey::cli
