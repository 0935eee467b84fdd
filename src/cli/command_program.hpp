// The whole command line: every command in one table of CLI11, from which help, completions and
// manual pages are made too.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

// Adds every command to `program`. Each sets `code` after it has run.
void add_commands(CLI::App& program, int& code);

// Runs the command that the words name, without that of the program, or throws CLI::ParseError. The
// value of `--name=` is empty, in whose place CLI11 would take the next word.
void parse_words(CLI::App& program, std::vector<std::string> const& words);

// Prints what is wrong with the words of a command line, and the nearest that would be right;
// returns the exit code. Help and version, which CLI11 reports as errors too, are printed as asked.
int report_parse_error(CLI::App& program, CLI::ParseError const& error);

}  // namespace latchkey::cli
