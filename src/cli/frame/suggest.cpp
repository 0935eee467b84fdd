#include "cli/frame/suggest.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

#include "base/visible.hpp"
#include "cli/frame/command_table.hpp"

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

std::string listed(std::vector<std::string> const& words) {
    std::string text;
    for (auto const& each : words) text += (text.empty() ? "" : ", ") + each;
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

std::size_t edit_distance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> before(right.size() + 1), above(right.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        std::vector<std::size_t> row(right.size() + 1);
        row[0] = i + 1;
        for (std::size_t j = 0; j < right.size(); ++j) {
            row[j + 1] = std::min(
                {above[j + 1] + 1, row[j] + 1, above[j] + (left[i] == right[j] ? 0u : 1u)});
            if (i > 0 && j > 0 && left[i] == right[j - 1] && left[i - 1] == right[j])
                row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
        }
        before = std::exchange(above, std::move(row));
    }
    return above.back();
}

std::string nearest(std::string_view word, std::vector<std::string> const& candidates) {
    auto const bare = without_dashes(word);
    std::string best;
    auto distance = std::max<std::size_t>(bare.size() / 3, 1) + 1;
    for (auto const& each : candidates) {
        auto const length = edit_distance(bare, without_dashes(each));
        if (length >= distance) continue;
        distance = length;
        best = each;
    }
    return best;
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
    auto suggestion = is_option ? std::string() : synonym_of(word, commands);
    if (suggestion.empty()) suggestion = nearest(word, candidates);
    auto sentence = name + " does not understand '" +
                    base::visible(is_option ? word.substr(0, word.find('=')) : word) + "'";
    if (!suggestion.empty()) return sentence + ": did you mean " + name + " " + suggestion + "?";
    if (!commands.empty()) return sentence + "; it has the commands " + listed(commands);
    return sentence + "; it has the options " + listed(options);
}

}  // namespace latchkey::cli
