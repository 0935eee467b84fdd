// keys list, keys show.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/limits.hpp"
#include "base/visible.hpp"
#include "cli/frame/key_text.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/keys/keys.hpp"
#include "cli/keys/keys_backend.hpp"
#include "model/key.hpp"

namespace latchkey::cli {
namespace {

struct key_list_options : api_command {
    model::id id = 0;
    key_selection selection;
};

bool is_state(std::string const& name) {
    using enum model::key_state;
    for (auto const each : {scheduled, active, expired, deactivated})
        if (model::name_of(each) == name) return true;
    return false;
}

// Of a key that comes as a token, the issuer is left to `keys show`.
std::string short_credential_of(json_object const& key) {
    return text_of(key, "kind") == "jwt" ? "jwt " + text_of(key, "subject") : credential_of(key);
}

// When it ends: of a key that was rotated, its overlap may end before it expires.
std::string end_of(json_object const& key) {
    auto const expiry = time_of(key, "expires_at", "never");
    auto const rotation = time_of(key, "rotation_ends_at", "never");
    return std::min(expiry, rotation);  // digits come before letters
}

// In 100 columns: days of its times, and long names and scopes cut off.
std::vector<std::vector<std::string>> table_of(std::vector<json_object> const& keys) {
    constexpr std::size_t columns_max = 100, day_columns = 10;
    static constexpr flexible_column flexible[] = {{1, 7}, {2, 7}, {4, 13}, {7, 7}};
    std::vector<std::vector<std::string>> rows{
        {"ID", "NAME", "PROJECT", "STATE", "KEY", "EXPIRES", "LAST USED", "SCOPES"}};
    for (auto const& key : keys)
        rows.push_back(
            {text_of(key, "id"), text_of(key, "name"), text_of(key, "project"),
             text_of(key, "state"), short_credential_of(key), end_of(key).substr(0, day_columns),
             time_of(key, "last_used_at").substr(0, day_columns), words_of(key, "scopes")});
    fit_columns(rows, columns_max, flexible);
    return rows;
}

int list_keys(key_list_options const& options) {
    auto const& selection = options.selection;
    if (!selection.project.empty() && !model::is_project(selection.project))
        return report_usage_error("--project must be 1 to 64 of a-z, 0-9 and -");
    if (!selection.state.empty() && !is_state(selection.state))
        return report_usage_error("--state must be scheduled, active, expired or deactivated");
    if (!selection.environment.empty() && !model::find_environment(selection.environment))
        return report_usage_error("--environment must be development, staging or production");
    if (selection.search.size() > base::limits::search_bytes_max ||
        !base::is_utf8(selection.search))
        return report_usage_error("--search must have 1 to 100 bytes of UTF-8");
    int code = done;
    auto const keys = open_keys(options, code, store_access::reads);
    if (keys == nullptr) return code;
    std::vector<std::string> records;
    std::vector<json_object> documents;
    auto const failure = keys->each(selection, [&](std::string_view key) {
        if (options.json)
            records.emplace_back(key);
        else
            documents.push_back(parse_object(key).value());
    });
    if (failure) return report(*failure);
    options.json ? print_page(records) : print_table(table_of(documents));
    return done;
}

// For the completions of shells: each id, with what describes it behind a tab.
int list_ids(key_list_options const& options) {
    int code = done;
    auto const keys = open_keys(options, code, store_access::reads);
    if (keys == nullptr) return code;
    std::string text;
    auto const failure = keys->each({}, [&](std::string_view each) {
        auto const key = parse_object(each).value();
        auto const state = text_of(key, "state");
        text.append(text_of(key, "id")).append("\t").append(base::visible(text_of(key, "name")));
        text.append(state == "active" ? "" : ", " + state).append("\n");
    });
    if (failure) return report(*failure);
    std::fputs(text.c_str(), stdout);
    return done;
}

int show(key_list_options const& options) {
    int code = done;
    auto const keys = open_keys(options, code, store_access::reads);
    if (keys == nullptr) return code;
    auto const document = keys->show(options.id);
    if (!document) return report(document.error());
    if (options.json)
        std::printf("%s\n", document->c_str());
    else
        print_record(key_rows(parse_object(*document).value()));
    return done;
}

}  // namespace

void add_keys_list(CLI::App& keys, int& code) {
    auto* const list_command = keys.add_subcommand("list", "Show all keys, without their secrets");
    auto const list_values = std::make_shared<key_list_options>();
    auto& selection = list_values->selection;
    list_values->add_to(*list_command);
    list_command->add_option("--project", selection.project, "Only keys of this project");
    list_command
        ->add_option("--state", selection.state,
                     "Only keys in this state: scheduled, active, expired or deactivated")
        ->type_name("{scheduled,active,expired,deactivated}");
    list_command
        ->add_option("--environment", selection.environment,
                     "Only keys of this environment: development, staging or production")
        ->type_name("{development,staging,production}");
    list_command->add_option("--search", selection.search,
                             "Only keys whose name has this text as a part, whatever the case of "
                             "ASCII letters");
    list_command->footer(
        "Prints the days of times, and cuts long names and scopes off: latchkey keys show shows a\n"
        "key whole, and --json all of them.\n"
        "Example: latchkey keys list --state active --json | jq '.data[].name'");
    list_command->callback([list_values, &code] { code = list_keys(*list_values); });

    auto* const ids_command = keys.add_subcommand("ids", "Print ids and names, for completions");
    auto const ids_options = std::make_shared<key_list_options>();
    ids_options->add_to(*ids_command);
    ids_command->group("");
    ids_command->callback([ids_options, &code] { code = list_ids(*ids_options); });

    auto* const show_command = keys.add_subcommand("show", "Show one key, without its secret");
    auto const show_options = std::make_shared<key_list_options>();
    show_options->add_to(*show_command);
    take_number(show_command->add_option("ID", show_options->id, key_id_help), 1,
                base::limits::id_max)
        ->required();
    show_command->footer("Example: latchkey keys show 17");
    show_command->callback([show_options, &code] { code = show(*show_options); });
}

}  // namespace latchkey::cli
