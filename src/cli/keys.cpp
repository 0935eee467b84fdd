#include "cli/keys.hpp"

#include <algorithm>
#include <cstdio>

#include "api/key_json.hpp"
#include "base/log.hpp"

namespace latchkey::cli {

void add_keys(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("keys", "Manage API keys; works while the service runs");
    command->require_subcommand(1);
    add_keys_create(*command, code);
    add_keys_list(*command, code);
    add_keys_state(*command, code);
    add_keys_import(*command, code);
}

int say_wrong(std::string const& sentence) {
    base::say(base::severity::failure, sentence);
    return wrong_usage;
}
int say_failed(std::string const& sentence) {
    base::say(base::severity::failure, sentence);
    return failed;
}

void key_command::add_to(CLI::App& command, std::vector<std::string> settings_too) {
    settings_too.push_back("data");
    settings_too.push_back("store.map_mib");
    settings.add_to(command, settings_too);
    command.add_flag("--json", json, "Print one JSON document");
}

std::unique_ptr<store::environment> open_store(key_command const& options, int& code,
                                               bool read_only, server::config* configured) {
    auto const settings = options.settings.resolve(code);
    if (!settings) {
        base::say(base::severity::failure, settings.error().message);
        return nullptr;
    }
    if (configured != nullptr) *configured = *settings;
    auto opened = store::environment::open({.directory = settings->data,
                                            .map_bytes = settings->store_map_mib << 20,
                                            .read_only = read_only});
    if (opened) return std::move(*opened);
    code = say_failed(opened.error().message);
    return nullptr;
}

std::string sentence_of(store::outcome const& refused) {
    std::string sentence(base::describe(refused.problem).title);
    if (!refused.detail.empty()) sentence += ": " + refused.detail;
    for (auto const& fault : refused.faults) sentence += "; " + fault.at + ": " + fault.detail;
    return sentence;
}

base::result<store::outcome> apply_one(store::environment& store, store::command::kind what) {
    std::vector<store::command> commands(1);
    commands[0].what = std::move(what);
    auto outcomes = store::apply(store, std::move(commands));
    if (!outcomes) return outcomes.error();
    auto& outcome = outcomes->front();
    if (outcome.problem != base::problem::none) return base::error{sentence_of(outcome)};
    return std::move(outcome);
}

std::string shown_time(base::wall_ms time, char const* none) {
    if (time == 0) return none;
    char text[base::timestamp_bytes];
    base::format_timestamp(time, text);
    text[10] = ' ';
    return std::string(text, 19) + "Z";
}

void print_table(std::vector<std::vector<std::string>> const& rows) {
    std::vector<std::size_t> widths;
    for (auto const& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (widths.size() == i) widths.push_back(0);
            widths[i] = std::max(widths[i], model::points_of(row[i]));
        }
    for (auto const& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) line.append(widths[i] - model::points_of(row[i]) + 2, ' ');
        }
        std::printf("%s\n", line.c_str());
    }
}

void print_key(store::outcome const& made, std::string_view plain, bool json) {
    auto const& key = std::get<model::key>(made.record);
    if (json) {
        std::string document;
        auto const shown = plain.empty() ? std::nullopt : std::optional(plain);
        api::append_key(document, key, made.at, shown, made.last_used_at);
        std::printf("%s\n", document.c_str());
        return;
    }
    std::string scopes;
    for (auto const& name : key.scopes.names()) scopes += (scopes.empty() ? "" : " ") + name;
    auto const state = model::name_of(key.state_at(made.at));
    std::fprintf(stderr, "Key %lld '%s' in project %s, %.*s, scopes: %s\n",
                 static_cast<long long>(key.id), key.name.c_str(), key.project.c_str(),
                 static_cast<int>(state.size()), state.data(), scopes.c_str());
    if (plain.empty()) return;
    std::fprintf(stderr, "It is shown this once; the service keeps only its hash:\n");
    std::printf("%.*s\n", static_cast<int>(plain.size()), plain.data());
}

}  // namespace latchkey::cli
