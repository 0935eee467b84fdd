// The commands that run the service, and those about its nodes and its configuration.
#pragma once

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

void add_serve(CLI::App& program, int& code);
void add_config(CLI::App& program, int& code);
void add_cluster(CLI::App& program, int& code);
void add_health(CLI::App& program, int& code);

}  // namespace latchkey::cli
