// The subcommands of `latchkey events`.
#pragma once

#include "cli/cli11_names.hpp"
#include "cli/command.hpp"

namespace latchkey::cli {

void add_events_list(CLI::App& events, int& code);

}  // namespace latchkey::cli
