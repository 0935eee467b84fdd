#include <sys/stat.h>

#include "cli/command.hpp"

int main(int argument_count, char** arguments) {
    // Whatever is created holds what only its owner may read.
    ::umask(077);
    CLI::App program("latchkey: a REST service whose every request is made with an API key",
                     "latchkey");
    program.set_version_flag("--version", "latchkey " LATCHKEY_VERSION);
    program.require_subcommand(1);
    program.footer(
        "To begin:\n"
        "  latchkey keys create --name first --scope '*'     a key, shown once\n"
        "  latchkey serve                                    on https://127.0.0.1:8443\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 78 wrong configuration.");
    int code = latchkey::cli::done;
    latchkey::cli::add_serve(program, code);
    latchkey::cli::add_keys(program, code);
    latchkey::cli::add_audit(program, code);
    latchkey::cli::add_events(program, code);
    latchkey::cli::add_config(program, code);
    try {
        program.parse(argument_count, arguments);
    } catch (CLI::ParseError const& wrong) {
        return program.exit(wrong) == 0 ? latchkey::cli::done : latchkey::cli::wrong_usage;
    }
    return code;
}
