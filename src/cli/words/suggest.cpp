#include "cli/words/suggest.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "base/nearest.hpp"
#include "base/visible.hpp"
#include "cli/words/command_table.hpp"

namespace latchkey::cli {
namespace {

// Words that other services use for these commands.
constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
    {"revoke", "deactivate"}, {"disable", "deactivate"},
    {"enable", "reactivate"}, {"delete", "deactivate"},
    {"remove", "deactivate"}, {"add", "create"},
    {"new", "create"},        {"ls", "list"},
    {"get", "show"},          {"validate", "verify"},
    {"check", "verify"},      {"edit", "update"},
    {"patch", "update"},      {"roll", "rotate"},
    {"start", "serve"},       {"run", "serve"},
    {"dump", "export"},       {"load", "import"},
    {"stats", "usage"},       {"log", "audit"},
    {"logs", "audit"},        {"hooks", "webhooks"},
    {"settings", "config"},   {"fsck", "check"},
    {"key", "keys"},          {"api-keys", "keys"},
    {"tokens", "keys"},
};

std::string_view without_dashes(std::string_view word) {
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    return word.substr(0, word.find('='));
}

std::vector<std::string> command_names(CLI::App const& command) {
    std::vector<std::string> names;
    for (auto const* const each : shown_commands(command)) names.push_back(each->get_name());
    return names;
}

std::vector<std::string> option_names(CLI::App const& command) {
    std::vector<std::string> names;
    for (auto const* const each : command.get_options())
        for (auto const& name : each->get_lnames()) names.push_back("--" + name);
    return names;
}

std::string listed(std::vector<std::string> const& words, char const* separator = ", ") {
    std::string text;
    for (auto const& each : words) text += (text.empty() ? "" : separator) + each;
    return text;
}

// The synonym that is one of the candidates.
std::string synonym_of(std::string_view word, std::vector<std::string> const& candidates) {
    for (auto const& [other, own] : synonyms)
        if (other == word && std::ranges::find(candidates, own) != candidates.end())
            return std::string(own);
    return {};
}

}  // namespace

std::string full_name(CLI::App const& command) {
    auto const* const parent = command.get_parent();
    return (parent == nullptr ? std::string() : full_name(*parent) + " ") + command.get_name();
}

CLI::App& deepest(CLI::App& command) {
    auto const parsed = command.get_subcommands();
    return parsed.empty() ? command : deepest(*parsed.back());
}

std::vector<std::string> near_words(std::string_view word,
                                    std::vector<std::string> const& candidates) {
    constexpr std::size_t abbreviation_bytes_min = 3, words_max = 3;
    auto const bare = without_dashes(word);
    std::vector<std::string_view> names;
    for (auto const& each : candidates) names.push_back(without_dashes(each));
    std::vector<std::string> near;
    if (auto const name = base::nearest(bare, names)) {
        auto const place = std::ranges::find(names, *name) - names.begin();
        near.push_back(candidates[static_cast<std::size_t>(place)]);
    } else if (bare.size() >= abbreviation_bytes_min) {
        std::ranges::copy_if(candidates, std::back_inserter(near), [&](std::string_view each) {
            return without_dashes(each).starts_with(bare);
        });
    }
    if (near.size() > words_max) near.clear();
    return near;
}

std::string explain_unknown(CLI::App& program) {
    auto& command = deepest(program);
    auto const name = full_name(command);
    auto const commands = command_names(command);
    auto const words = command.remaining();
    if (words.empty()) {
        // A command without an own action needs one below it.
        if (commands.empty() || command.get_require_subcommand_min() == 0) return {};
        return name + " needs a command: " + listed(commands);
    }
    auto const& word = words.front();
    auto candidates = commands;
    auto const options = option_names(command);
    bool const is_option = word.starts_with('-');
    if (is_option) candidates.clear();
    candidates.insert(candidates.end(), options.begin(), options.end());
    auto const synonym = is_option ? std::string() : synonym_of(word, commands);
    auto const suggestions =
        synonym.empty() ? near_words(word, candidates) : std::vector<std::string>{synonym};
    auto sentence = name + " does not understand '" +
                    base::visible(is_option ? word.substr(0, word.find('=')) : word) + "'";
    if (!suggestions.empty())
        return sentence + ": did you mean " + name + " " + listed(suggestions, " or ") + "?";
    if (!commands.empty()) return sentence + "; it has the commands " + listed(commands);
    return sentence + "; it has the options " + listed(options);
}

}  // namespace latchkey::cli
