// Commands that have a counterpart in the public API: they work on the store of this machine, or
// with --url on that of a service elsewhere.
#pragma once

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/remote_api.hpp"
#include "cli/frame/store_command.hpp"

namespace latchkey::cli {

struct api_command : store_command {
    service_options elsewhere;

    void add_to(CLI::App& command, std::vector<std::string> more_settings = {});
    // Is a service elsewhere meant? Flags about the store of this machine, such as --data and
    // --config, count more than LATCHKEY_URL.
    bool is_remote() const;
    // One request to the service elsewhere.
    answer_of<std::string> ask(std::string_view method, std::string_view target,
                               std::string_view body = {}) const;
};

// Every element of a list of the service elsewhere (remote_api::each).
std::optional<refusal> each_elsewhere(api_command const& command, std::string_view path,
                                      query_text const& filters, remote_api::element_sink sink);

// Prints the refusal, unless it was said already, and returns its exit code.
int report(refusal const& refusal);

}  // namespace latchkey::cli
