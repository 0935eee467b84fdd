#include <sys/stat.h>

#include "cli/command.hpp"

int main(int argument_count, char** arguments) {
    // Only the owner may read the files that are created.
    ::umask(077);
    CLI::App program("latchkey: a REST service whose every request is made with an API key",
                     "latchkey");
    program.set_version_flag("--version", "latchkey " LATCHKEY_VERSION);
    program.require_subcommand(1);
    program.footer(
        "First steps:\n"
        "  latchkey keys create --name first --scope '*'     create a key; it is shown once\n"
        "  latchkey serve                                    serve https://127.0.0.1:8443\n"
        "All commands but serve, restore and reset-time work beside a running service.\n"
        "COMMAND --help explains a command, with an example.\n"
        "Exit codes: 0 success, 1 failure, 2 wrong usage, 78 wrong configuration.");
    int code = latchkey::cli::done;
    latchkey::cli::add_serve(program, code);
    latchkey::cli::add_keys(program, code);
    latchkey::cli::add_audit(program, code);
    latchkey::cli::add_events(program, code);
    latchkey::cli::add_changes(program, code);
    latchkey::cli::add_webhooks(program, code);
    latchkey::cli::add_import(program, code);
    latchkey::cli::add_export(program, code);
    latchkey::cli::add_seed(program, code);
    latchkey::cli::add_backup(program, code);
    latchkey::cli::add_restore(program, code);
    latchkey::cli::add_check(program, code);
    latchkey::cli::add_cluster(program, code);
    latchkey::cli::add_reset_time(program, code);
    latchkey::cli::add_config(program, code);
    try {
        program.parse(argument_count, arguments);
    } catch (CLI::ParseError const& error) {
        return program.exit(error) == 0 ? latchkey::cli::done : latchkey::cli::usage_error;
    }
    return code;
}
