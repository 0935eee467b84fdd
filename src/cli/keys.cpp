#include "cli/keys.hpp"

namespace latchkey::cli {

void add_keys(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "keys", "Create, list, rotate and deactivate API keys, beside a running service");
    command->require_subcommand(1);
    add_keys_create(*command, code);
    add_keys_list(*command, code);
    add_keys_state(*command, code);
    add_keys_import(*command, code);
}

}  // namespace latchkey::cli
