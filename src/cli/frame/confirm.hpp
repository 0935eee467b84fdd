// A question before what cannot be taken back easily. One thread.
#pragma once

#include <optional>
#include <string>

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

// Adds `--yes` to a command that may ask.
void add_confirmation(CLI::App& command, bool& is_confirmed);

// Is there a terminal to ask at?
bool can_ask();

// nullopt: go on. Else the exit code, after a message: the answer was no, or there is no terminal
// to ask at. `consequence` is a sentence such as "this deactivates 7 keys of the project shop".
std::optional<int> confirm(std::string const& consequence, bool is_confirmed);

}  // namespace latchkey::cli
