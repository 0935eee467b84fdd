// Completion scripts, made from the table of commands. They start no program: what they offer are
// commands, options, the values of options where those are few, and files. Pure functions.
#pragma once

#include <string>

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

std::string bash_completion(CLI::App const& program);
std::string zsh_completion(CLI::App const& program);
std::string fish_completion(CLI::App const& program);

}  // namespace latchkey::cli
