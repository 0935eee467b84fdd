// The commands about the store as a whole.
#pragma once

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

void add_import(CLI::App& program, int& code);
void add_export(CLI::App& program, int& code);
void add_seed(CLI::App& program, int& code);
void add_backup(CLI::App& program, int& code);
void add_restore(CLI::App& program, int& code);
void add_check(CLI::App& program, int& code);
void add_reset_time(CLI::App& program, int& code);

}  // namespace latchkey::cli
