#include "cli/frame/scope_list.hpp"

#include <CLI/CLI.hpp>

namespace latchkey::cli {

void add_scopes(CLI::App& command, std::vector<std::string>& scopes, std::string const& help) {
    command.add_option("--scope,--scopes", scopes, help)
        ->type_name(std::string(scope_type))
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace latchkey::cli
