#include "cli/frame/command_table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace latchkey::cli {
namespace {

void add_commands_of(CLI::App const& command, std::vector<std::string> const& words,
                     std::vector<command_entry>& all) {
    all.push_back({words, &command});
    for (auto const* const each : shown_commands(command)) {
        auto longer = words;
        longer.push_back(each->get_name());
        add_commands_of(*each, longer, all);
    }
}

// "TEXT:{minute,hour,day}" or "{minute,hour,day}"
std::vector<std::string> choices_in(std::string const& type) {
    auto const begin = type.find('{'), end = type.find('}');
    std::vector<std::string> choices;
    if (begin == type.npos || end == type.npos) return choices;
    for (auto rest = std::string_view(type).substr(begin + 1, end - begin - 1); !rest.empty();) {
        auto const comma = std::min(rest.find(','), rest.size());
        choices.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return choices;
}

option_entry entry_of(CLI::Option const& option) {
    static constexpr std::string_view files[] = {"FILE", "USERS", "POSTS"};
    option_entry entry;
    for (auto const& name : option.get_lnames()) entry.flags.push_back("--" + name);
    if (option.get_positional()) entry.name = option.get_name(true);
    bool const has_value = option.get_expected_max() != 0 && option.get_type_size_max() != 0;
    if (has_value) entry.type = option.get_type_name();
    if (has_value && entry.type.empty()) entry.type = "VALUE";
    entry.description = option.get_description();
    entry.default_value = option.get_default_str();
    entry.choices = choices_in(entry.type);
    entry.is_required = option.get_required();
    entry.is_file =
        entry.type.starts_with("FILE") || std::ranges::find(files, entry.name) != std::end(files);
    entry.has_many = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    return entry;
}

}  // namespace

std::string command_entry::joined(std::string_view separator) const {
    std::string text;
    for (auto const& word : words) text.append(text.empty() ? "" : separator).append(word);
    return text;
}

std::vector<CLI::App const*> shown_commands(CLI::App const& command) {
    auto commands = command.get_subcommands([](CLI::App const*) { return true; });
    std::erase_if(commands, [](CLI::App const* each) { return each->get_group().empty(); });
    return commands;
}

std::vector<command_entry> all_commands(CLI::App const& program) {
    std::vector<command_entry> all;
    add_commands_of(program, {}, all);
    return all;
}

std::vector<option_entry> options_of(CLI::App const& command) {
    std::vector<option_entry> entries;
    for (auto const* const each : command.get_options()) entries.push_back(entry_of(*each));
    return entries;
}

}  // namespace latchkey::cli
