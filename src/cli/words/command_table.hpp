// The commands as CLI11 has them, for what is made of them besides the help: completions and manual
// pages. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/frame/cli11_names.hpp"

namespace latchkey::cli {

// A command that is shown: its words without `latchkey`, none for the program itself.
struct command_entry {
    std::vector<std::string> words;
    CLI::App const* command = nullptr;

    std::string joined(std::string_view separator) const;  // "keys create"
};
std::vector<command_entry> all_commands(CLI::App const& program);
std::vector<CLI::App const*> shown_commands(CLI::App const& command);

// What an option is about: the command itself, its output and questions, the service that it asks,
// or a setting.
enum class option_group : std::uint8_t { own, general, elsewhere, setting };

// An option, or a positional argument.
struct option_entry {
    std::vector<std::string> flags;  // "--name"; empty: a positional argument
    std::string name;                // of a positional argument
    std::string type;                // "TEXT", "FILE", …; empty: it takes no value
    std::string description, default_value;
    option_group group = option_group::own;
    std::vector<std::string> choices;  // of its values, where they are few
    bool is_required = false;
    bool is_file = false;  // its value is the name of a file
    bool is_key_id = false;
    bool has_many = false;
    bool is_list = false;  // its value may be several choices with commas between them
};
// By group, and within one in the order in which they were added.
std::vector<option_entry> options_of(CLI::App const& command);

}  // namespace latchkey::cli
