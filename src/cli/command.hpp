// The commands of `latchkey`: each adds itself to the command line and says what it does. What a
// command prints for programs goes to standard output, what it tells people to standard error.
#pragma once

#include <CLI/CLI.hpp>

namespace latchkey::cli {

enum exit_code : int { done = 0, failed = 1, wrong_usage = 2, wrong_configuration = 78 };

// Each sets `code` when it was chosen and has run.
void add_serve(CLI::App& program, int& code);
void add_config(CLI::App& program, int& code);
void add_keys(CLI::App& program, int& code);
void add_audit(CLI::App& program, int& code);
void add_events(CLI::App& program, int& code);

}  // namespace latchkey::cli
