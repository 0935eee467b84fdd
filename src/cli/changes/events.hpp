// The commands about changes and events, and the subcommands of `latchkey events`.
#pragma once

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

void add_events(CLI::App& program, int& code);
void add_changes(CLI::App& program, int& code);

void add_events_list(CLI::App& events, int& code);

}  // namespace latchkey::cli
