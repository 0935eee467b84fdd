#include "cli/store_command.hpp"

#include "base/log.hpp"

namespace latchkey::cli {

void store_command::add_to(CLI::App& command, std::vector<std::string> more_settings) {
    more_settings.push_back("data");
    more_settings.push_back("store.map_mib");
    settings.add_to(command, more_settings);
    command.add_flag("--json", json, "Print one JSON document instead of text");
}

std::unique_ptr<store::environment> open_store(store_command const& options, int& code,
                                               store_access access, server::config* configuration) {
    auto const settings = options.settings.resolve(code);
    if (!settings) {
        base::log(base::severity::failure, settings.error().message);
        return nullptr;
    }
    if (configuration != nullptr) *configuration = *settings;
    auto environment = store::environment::open(
        {.directory = settings->data,
         .map_bytes = settings->store_map_mib << 20,
         .read_only = access == store_access::reads || access == store_access::copies,
         .any_time = access == store_access::copies || access == store_access::repairs});
    if (environment) return std::move(*environment);
    code = report_failure(environment.error().message);
    return nullptr;
}

std::string message_of(store::outcome const& refusal) {
    std::string message(base::describe(refusal.problem).title);
    if (!refusal.detail.empty()) message += ": " + refusal.detail;
    for (auto const& fault : refusal.faults) message += "; " + fault.location + ": " + fault.detail;
    return message;
}

base::result<store::outcome> apply_one(store::environment& store,
                                       store::command::any_action change) {
    std::vector<store::command> commands(1);
    commands[0].action = std::move(change);
    auto outcomes = store::apply(store, std::move(commands));
    if (!outcomes) return outcomes.error();
    auto& outcome = outcomes->front();
    if (outcome.problem != base::problem::none) return base::error{message_of(outcome)};
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
