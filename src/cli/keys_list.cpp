// keys list, keys show.
#include <cstdio>

#include "api/resources/key_json.hpp"
#include "base/limits.hpp"
#include "cli/keys.hpp"
#include "cli/print.hpp"
#include "cli/store_command.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct list_options : store_command {
    model::id id = 0;
    std::string project, state, environment;
};

std::optional<model::key_state> find_state(std::string const& name) {
    using enum model::key_state;
    for (auto const each : {scheduled, active, expired, deactivated})
        if (model::name_of(each) == name) return each;
    return std::nullopt;
}

// What the bearer shows: a key, by its ends, or a token of an issuer for a subject.
std::string credential_of(model::key const& key) {
    if (key.kind == model::key_kind::jwt) return "jwt " + key.issuer + " " + key.subject;
    return key.start.empty() ? "(imported)" : key.start + "…" + key.last4;
}

std::vector<std::string> row_of(model::key const& key, base::wall_ms last_use, base::wall_ms now) {
    std::string scopes;
    for (auto const& name : key.scopes.names()) scopes += (scopes.empty() ? "" : " ") + name;
    return {std::to_string(key.id),
            key.name,
            key.project,
            std::string(model::name_of(key.environment)),
            std::string(model::name_of(key.state_at(now))),
            credential_of(key),
            format_time(key.expires_at, "never"),
            format_time(last_use, "-"),
            scopes};
}

int list(list_options const& options) {
    store::key_filter filter;
    if (!options.project.empty()) filter.project = options.project;
    if (!options.state.empty() && !(filter.state = find_state(options.state)))
        return report_usage_error("--state must be scheduled, active, expired or deactivated");
    if (!options.environment.empty() &&
        !(filter.environment = model::find_environment(options.environment)))
        return report_usage_error("--environment must be development, staging or production");
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return code;
    base::wall_ms now = 0;
    std::vector<std::string> records;
    std::vector<std::vector<std::string>> rows{
        {"ID", "NAME", "PROJECT", "ENVIRONMENT", "STATE", "KEY", "EXPIRES", "LAST USED", "SCOPES"}};
    {
        store::snapshot snapshot(*store);
        snapshot.renew();
        now = filter.now = snapshot.time();
        snapshot.keys(filter, {.limit = UINT32_MAX},
                      [&](model::key const& key, base::wall_ms last_use) {
                          if (!options.json) return rows.push_back(row_of(key, last_use, now));
                          api::append_key(records.emplace_back(), key, now, {}, last_use);
                      });
        if (snapshot.damaged()) return report_damage();
    }
    // Printed after the snapshot is released: a slow terminal must not keep old pages in use.
    options.json ? print_page(records) : print_table(rows);
    return done;
}

void print_record(model::key const& key, base::wall_ms last_use, base::wall_ms now) {
    auto const end = key.ending_at(now);
    auto const names = {"id",  "name",    "project",   "environment", "state",
                        "key", "expires", "last used", "scopes"};
    std::vector<std::vector<std::string>> rows;
    auto const row = row_of(key, last_use, now);
    for (std::size_t i = 0; auto const* const name : names) rows.push_back({name, row[i++]});
    auto const id = [](model::id value) { return value == 0 ? "-" : std::to_string(value); };
    rows.push_back({"created", format_time(key.created_at, "-")});
    rows.push_back({"created by", key.created_by == 0 ? "the command line" : id(key.created_by)});
    rows.push_back({"not before", format_time(key.not_before, "-")});
    rows.push_back({"deactivated",
                    format_time(end.time, "-") + " " + std::string(model::name_of(end.reason))});
    rows.push_back({"replaces", id(key.replaces)});
    rows.push_back({"replaced by", id(key.replaced_by)});
    rows.push_back({"rotation ends", format_time(key.rotation_ends_at, "-")});
    for (auto const& limit : key.rate_limits)
        rows.push_back({"limit " + limit.name, std::to_string(limit.limit) + " in " +
                                                   std::to_string(limit.window_seconds) + " s"});
    for (auto const& network : key.ip_allowlist) rows.push_back({"allowed from", network.text()});
    for (auto const& [name, value] : key.metadata) rows.push_back({"metadata " + name, value});
    print_table(rows);
}

int show(list_options const& options) {
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return code;
    store::snapshot snapshot(*store);
    snapshot.renew();
    auto const key = snapshot.key(options.id);
    auto const last_use = key ? snapshot.last_use(key->id) : 0;
    if (snapshot.damaged()) return report_damage();
    if (!key)
        return report_failure("there is no key " + std::to_string(options.id) +
                              ": latchkey keys list shows all");
    auto const now = snapshot.time();
    if (!options.json) {
        print_record(*key, last_use, now);
        return done;
    }
    std::string document;
    api::append_key(document, *key, now, {}, last_use);
    std::printf("%s\n", document.c_str());
    return done;
}

}  // namespace

void add_keys_list(CLI::App& keys, int& code) {
    auto* const list_command = keys.add_subcommand("list", "Show all keys, without their secrets");
    auto const list_values = std::make_shared<list_options>();
    list_values->add_to(*list_command);
    list_command->add_option("--project", list_values->project, "Only keys of this project");
    list_command->add_option("--state", list_values->state,
                             "Only keys in this state: scheduled, active, expired or deactivated");
    list_command->add_option("--environment", list_values->environment,
                             "Only keys of this environment: development, staging or production");
    list_command->footer("Example: latchkey keys list --state active --json | jq '.data[].name'");
    list_command->callback([list_values, &code] { code = list(*list_values); });

    auto* const show_command = keys.add_subcommand("show", "Show one key, without its secret");
    auto const show_options = std::make_shared<list_options>();
    show_options->add_to(*show_command);
    show_command->add_option("ID", show_options->id, "The key's id")
        ->required()
        ->check(CLI::Range(model::id{1}, base::limits::id_max));
    show_command->footer("Example: latchkey keys show 17");
    show_command->callback([show_options, &code] { code = show(*show_options); });
}

}  // namespace latchkey::cli
