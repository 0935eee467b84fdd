#include "cli/command_program.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/system/log.hpp"
#include "base/version.hpp"
#include "base/visible.hpp"
#include "cli/command_list.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/serve_settings.hpp"
#include "cli/words/help_text.hpp"
#include "cli/words/suggest.hpp"

namespace latchkey::cli {
namespace {

// An option takes one value each time that it is given: CLI11 lets those of lists take the words
// behind it, too, which are the arguments of the command. An empty one would count as none, unless
// that is what a setting or a description is set to.
void limit_values(CLI::App& command) {
    for (auto* const option : command.get_options()) {
        if (option->get_positional()) continue;
        option->allow_extra_args(false);
        if (option->get_name() == "--description" || is_setting_flag(option->get_name())) continue;
        option->check([](std::string const& text) {
            return std::string(text.empty() ? "must not be empty" : "");
        });
    }
    for (auto* const each : command.get_subcommands([](CLI::App*) { return true; }))
        limit_values(*each);
}

// A command on the store that can ask no service says so where one is named for all commands.
void tell_of_local_store(CLI::App& command) {
    auto const* const data = command.get_option_no_throw("--data");
    if (data != nullptr && command.get_option_no_throw("--url") == nullptr)
        command.parse_complete_callback([data] {
            auto const* const url = std::getenv("LATCHKEY_URL");
            if (url != nullptr && *url != '\0' && data->count() == 0)
                base::log(
                    "LATCHKEY_URL is set, but this command works on the store of this machine "
                    "alone");
        });
    for (auto* const each : command.get_subcommands([](CLI::App*) { return true; }))
        if (each->get_name() != "serve" && each->get_name() != "config") tell_of_local_store(*each);
}

}  // namespace

void add_commands(CLI::App& program, int& code) {
    program.set_version_flag("--version", "latchkey " LATCHKEY_VERSION);
    program.require_subcommand(1);
    program.footer(
        std::string(
            "First steps:\n"
            "  latchkey keys create --name first --scope '*'     create a key; it is shown once\n"
            "  latchkey serve                                    serve https://127.0.0.1:8443\n"
            "Words of the field: keys verify (is a key valid?), keys deactivate (revoke a key),\n"
            "keys create --limit (a rate limit), keys usage, webhooks (send changes to a URL).\n"
            "All commands but serve, restore and reset-time work beside a running service.\n"
            "COMMAND --help explains a command, with an example.\n"
            "Exit codes: ") +
        exit_code_text);
    for (auto const add : command_list) add(program, code);
    limit_values(program);
    tell_of_local_store(program);
}

void parse_words(CLI::App& program, std::vector<std::string> const& words) {
    std::vector<std::string> all;
    for (auto const& word : words) {
        bool const is_unfilled =
            word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1;
        all.push_back(is_unfilled ? word.substr(0, word.size() - 1) : word);
        if (is_unfilled) all.emplace_back();
    }
    std::ranges::reverse(all);
    program.parse(std::move(all));
}

int report_parse_error(CLI::App& program, CLI::ParseError const& error) {
    if (dynamic_cast<CLI::CallForHelp const*>(&error) != nullptr) {
        auto const text = help_text(deepest(program), terminal_columns(help_columns_max));
        std::fputs(text.c_str(), stdout);
        return done;
    }
    if (error.get_exit_code() == 0) return program.exit(error);
    auto const sentence = explain_unknown(program);
    base::log(base::severity::failure, sentence.empty() ? base::visible(error.what()) : sentence);
    base::log(full_name(deepest(program)) + " --help explains it");
    return usage_error;
}

}  // namespace latchkey::cli
