// The commands that describe all others.
#pragma once

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

void add_completion(CLI::App& program, int& code);
void add_man(CLI::App& program, int& code);

}  // namespace latchkey::cli
