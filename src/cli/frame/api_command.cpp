#include "cli/frame/api_command.hpp"

#include <CLI/CLI.hpp>

#include "base/system/log.hpp"

namespace latchkey::cli {

void api_command::add_to(CLI::App& command, std::vector<std::string> more_settings) {
    store_command::add_to(command, std::move(more_settings));
    elsewhere.add_to(command);
    for (auto const* const name : {"--data", "--config"})
        command.get_option("--url")->excludes(command.get_option(name));
}

bool api_command::is_remote() const {
    return !elsewhere.url.empty() || (!elsewhere.chosen_url().empty() && !settings.is_any_given());
}

answer_of<std::string> api_command::ask(std::string_view method, std::string_view target,
                                        std::string_view body) const {
    auto const connection = remote_api::connect(elsewhere);
    if (!connection) return connection.error();
    return (*connection)->call(method, target, body);
}

std::optional<refusal> each_elsewhere(api_command const& command, std::string_view path,
                                      query_text const& filters, remote_api::element_sink sink) {
    auto const connection = remote_api::connect(command.elsewhere);
    if (!connection) return connection.error();
    return (*connection)->each(path, filters, sink);
}

int report(refusal const& refusal) {
    if (!refusal.message.empty()) base::log(base::severity::failure, refusal.message);
    return refusal.code;
}

}  // namespace latchkey::cli
