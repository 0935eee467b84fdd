// keys list, keys show.
#include <cstdio>

#include "api/key_json.hpp"
#include "base/limits.hpp"
#include "cli/keys.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct list_options : key_command {
    model::id id = 0;
    std::string project, state, environment;
};

std::optional<model::key_state> find_state(std::string const& name) {
    using enum model::key_state;
    for (auto const each : {scheduled, active, expired, deactivated})
        if (model::name_of(each) == name) return each;
    return std::nullopt;
}

// As GET /keys has it, all on one page.
void print_list(std::vector<std::string> const& records) {
    std::string document = "{\"data\":[";
    for (auto const& each : records)
        document.append(&each == records.data() ? "" : ",").append(each);
    auto const count = std::to_string(records.size());
    document += "],\"pagination\":{\"page\":1,\"limit\":" + count + ",\"total\":" + count +
                ",\"total_pages\":1,\"has_more\":false,\"next_cursor\":null}}";
    std::printf("%s\n", document.c_str());
}

std::vector<std::string> row_of(model::key const& key, base::wall_ms used, base::wall_ms now) {
    std::string scopes;
    for (auto const& name : key.scopes.names()) scopes += (scopes.empty() ? "" : " ") + name;
    return {std::to_string(key.id),
            key.name,
            key.project,
            std::string(model::name_of(key.environment)),
            std::string(model::name_of(key.state_at(now))),
            key.start.empty() ? "(imported)" : key.start + "…" + key.last4,
            shown_time(key.expires_at, "never"),
            shown_time(used, "-"),
            scopes};
}

int list(list_options const& options) {
    store::key_filter which;
    if (!options.project.empty()) which.project = options.project;
    if (!options.state.empty() && !(which.state = find_state(options.state)))
        return say_wrong("--state must be scheduled, active, expired or deactivated");
    if (!options.environment.empty() &&
        !(which.environment = model::find_environment(options.environment)))
        return say_wrong("--environment must be development, staging or production");
    int code = done;
    auto const store = open_store(options, code, true);
    if (store == nullptr) return code;
    auto const now = which.now = base::read_clocks().wall;
    std::vector<std::string> records;
    std::vector<std::vector<std::string>> rows{
        {"ID", "NAME", "PROJECT", "ENVIRONMENT", "STATE", "KEY", "EXPIRES", "LAST USED", "SCOPES"}};
    {
        store::snapshot seen(*store);
        seen.renew();
        seen.keys(which, {.limit = UINT32_MAX}, [&](model::key const& key, base::wall_ms used) {
            if (!options.json) return rows.push_back(row_of(key, used, now));
            api::append_key(records.emplace_back(), key, now, {}, used);
        });
    }
    // Printed without the snapshot: a terminal may be slow, and old pages stay as long as it lives.
    options.json ? print_list(records) : print_table(rows);
    return done;
}

void print_record(model::key const& key, base::wall_ms used, base::wall_ms now) {
    auto const end = key.ending_at(now);
    auto const names = {"id",  "name",    "project",   "environment", "state",
                        "key", "expires", "last used", "scopes"};
    std::vector<std::vector<std::string>> rows;
    auto const row = row_of(key, used, now);
    for (std::size_t i = 0; auto const* const name : names) rows.push_back({name, row[i++]});
    auto const id = [](model::id of) { return of == 0 ? "-" : std::to_string(of); };
    rows.push_back({"created", shown_time(key.created_at, "-")});
    rows.push_back({"created by", key.created_by == 0 ? "the command line" : id(key.created_by)});
    rows.push_back({"not before", shown_time(key.not_before, "-")});
    rows.push_back(
        {"deactivated", shown_time(end.at, "-") + " " + std::string(model::name_of(end.reason))});
    rows.push_back({"replaces", id(key.replaces)});
    rows.push_back({"replaced by", id(key.replaced_by)});
    rows.push_back({"rotation ends", shown_time(key.rotation_ends_at, "-")});
    for (auto const& limit : key.rate_limits)
        rows.push_back({"limit " + limit.name, std::to_string(limit.limit) + " in " +
                                                   std::to_string(limit.window_seconds) + " s"});
    for (auto const& network : key.ip_allowlist) rows.push_back({"allowed from", network.text()});
    for (auto const& [name, value] : key.metadata) rows.push_back({"metadata " + name, value});
    print_table(rows);
}

int show(list_options const& options) {
    int code = done;
    auto const store = open_store(options, code, true);
    if (store == nullptr) return code;
    store::snapshot seen(*store);
    seen.renew();
    auto const key = seen.key(options.id);
    if (!key) return say_failed("there is no key " + std::to_string(options.id));
    auto const now = base::read_clocks().wall;
    auto const used = seen.last_use(key->id);
    if (!options.json) return print_record(*key, used, now), done;
    std::string document;
    api::append_key(document, *key, now, {}, used);
    std::printf("%s\n", document.c_str());
    return done;
}

}  // namespace

void add_keys_list(CLI::App& keys, int& code) {
    auto* const all = keys.add_subcommand("list", "Show all keys, without their secrets");
    auto const which = std::make_shared<list_options>();
    which->add_to(*all);
    all->add_option("--project", which->project, "Only of this project");
    all->add_option("--state", which->state, "Only scheduled, active, expired or deactivated");
    all->add_option("--environment", which->environment,
                    "Only of development, staging or production");
    all->footer("Example: latchkey keys list --state active --json | jq '.data[].name'");
    all->callback([which, &code] { code = list(*which); });

    auto* const one = keys.add_subcommand("show", "Show one key, without its secret");
    auto const key = std::make_shared<list_options>();
    key->add_to(*one);
    one->add_option("ID", key->id, "The key's id")
        ->required()
        ->check(CLI::Range(model::id{1}, base::limits::id_max));
    one->footer("Example: latchkey keys show 17");
    one->callback([key, &code] { code = show(*key); });
}

}  // namespace latchkey::cli
