#include "cli/frame/store_command.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/system/log.hpp"
#include "server/process/cluster_member.hpp"

namespace latchkey::cli {

void store_command::add_to(CLI::App& command, std::vector<std::string> more_settings) {
    more_settings.push_back("data");
    more_settings.push_back("store.map_mib");
    more_settings.push_back("store.master_key_file");
    more_settings.push_back("cluster.postgres");
    settings.add_to(command, more_settings);
    command.add_flag("--json", json, "Print one JSON document instead of text");
}

namespace {

bool exists(std::string const& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

// A service that runs as the owner of the directory could not open what root makes there.
bool would_make_foreign_files(server::config const& settings) {
    struct stat directory{};
    auto const& data = settings.data;
    bool const is_foreign =
        ::geteuid() == 0 && ::stat(data.c_str(), &directory) == 0 && directory.st_uid != 0;
    bool const has_key = !settings.store_master_key_file.empty() || exists(data + "/master.key");
    return is_foreign &&
           !(has_key && exists(data + "/store.mdb") && exists(data + "/store.mdb-lock"));
}

}  // namespace

base::result<void> look_for_store(server::config const& settings, store_access access) {
    using enum store_access;
    auto const& data = settings.data;
    if (would_make_foreign_files(settings))
        return base::error{data +
                           " belongs to another user, who could not open the files that root "
                           "makes there: run this as that user (sudo -u …)"};
    if (exists(data + "/store.mdb")) return {};
    if (access == makes) base::log("there is no store in " + data + " yet: a new one is made");
    if (access != writes && access != repairs) return {};
    return base::error{"there is no store in " + data +
                       ": --data names its directory; latchkey keys create makes a new one"};
}

opened_store open_store(store_command const& options, int& code, store_access access,
                        server::config* configuration) {
    auto const settings = options.settings.resolve(code);
    if (!settings) return {};
    if (auto const presence = look_for_store(*settings, access); !presence) {
        code = report_failure(presence.error().message);
        return {};
    }
    if (configuration != nullptr) *configuration = *settings;
    auto environment = store::environment::open(
        {.directory = settings->data,
         .master_key_file = settings->store_master_key_file,
         .map_bytes = settings->store_map_mib << 20,
         .read_only = access == store_access::reads || access == store_access::copies,
         .records_changes = settings->changes_enabled,
         .key_times = server::key_time_rules(*settings),
         .any_time = access == store_access::copies || access == store_access::repairs});
    std::unique_ptr<cluster::node> node;
    auto const status = [&]() -> base::result<void> {
        if (!environment) return environment.error();
        auto const place = (*environment)->node();
        bool const changes = access == store_access::writes || access == store_access::makes;
        if (!changes || !place) return {};
        auto connected = server::connect_command(*settings, **environment);
        if (!connected) return connected.error();
        node = std::move(*connected);
        node->follow(place->position, place->nonce);
        return (*environment)->attach(*node, place->cluster);
    }();
    if (status) return {std::move(node), std::move(*environment)};
    code = report_failure(status.error().message);
    return {};
}

std::string message_of(domain::outcome const& refusal) {
    std::string message(base::describe(refusal.problem).title);
    if (!refusal.detail.empty()) message += ": " + refusal.detail;
    for (auto const& fault : refusal.faults) message += "; " + fault.location + ": " + fault.detail;
    return message;
}

refusal refusal_of(domain::outcome const& outcome) {
    return {message_of(outcome), exit_code_of(base::describe(outcome.problem).status)};
}

answer_of<domain::outcome> apply_one(store::environment& store,
                                     domain::command::any_action change) {
    std::vector<domain::command> commands(1);
    commands[0].action = std::move(change);
    auto outcomes = domain::apply(store, std::move(commands));
    if (!outcomes) return refusal{outcomes.error().message, failed};
    auto& outcome = outcomes->front();
    if (outcome.problem != base::problem::none) return refusal_of(outcome);
    return std::move(outcome);
}

int report_usage_error(std::string const& message) {
    base::log(base::severity::failure, message);
    return usage_error;
}
int report_failure(std::string const& message) {
    base::log(base::severity::failure, message);
    return failed;
}

int report_damage() {
    return report_failure(
        "some records of the store are damaged, so the output is incomplete: run latchkey check, "
        "which names them and what to do");
}

}  // namespace latchkey::cli
