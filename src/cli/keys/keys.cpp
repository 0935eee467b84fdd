#include "cli/keys/keys.hpp"

#include <CLI/CLI.hpp>

namespace latchkey::cli {

void add_keys(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "keys", "Create, list, verify, rotate and deactivate (revoke) API keys, set rate limits");
    command->require_subcommand(1);
    add_keys_create(*command, code);
    add_keys_list(*command, code);
    add_keys_state(*command, code);
    add_keys_update(*command, code);
    add_keys_usage(*command, code);
    add_keys_verify(*command, code);
    add_keys_import(*command, code);
}

}  // namespace latchkey::cli
