#include "cli/words/command_table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/frame/key_text.hpp"
#include "cli/frame/scope_list.hpp"
#include "cli/frame/serve_settings.hpp"
#include "model/scope.hpp"

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

std::vector<std::string> scope_names() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < model::scope_count; ++i)
        names.emplace_back(model::name_of(static_cast<model::scope>(i)));
    return names;
}

option_group group_of(std::string_view flag) {
    static constexpr std::string_view general[] = {"--json", "--yes", "--quiet", "--help",
                                                   "--version"};
    static constexpr std::string_view elsewhere[] = {"--url", "--key-file", "--ca-file"};
    if (flag == "--config" || is_setting_flag(flag)) return option_group::setting;
    if (std::ranges::find(elsewhere, flag) != std::end(elsewhere)) return option_group::elsewhere;
    return std::ranges::find(general, flag) != std::end(general) ? option_group::general
                                                                 : option_group::own;
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
    entry.is_list = entry.type == scope_type;
    entry.choices = entry.is_list ? scope_names() : choices_in(entry.type);
    if (!entry.flags.empty()) entry.group = group_of(entry.flags.front());
    entry.is_required = option.get_required();
    entry.is_file =
        entry.type.starts_with("FILE") || std::ranges::find(files, entry.name) != std::end(files);
    entry.is_key_id = entry.description == key_id_help;
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
    std::ranges::stable_sort(entries, {}, &option_entry::group);
    return entries;
}

}  // namespace latchkey::cli
