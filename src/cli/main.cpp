#include <sys/stat.h>

#include "cli/program.hpp"

int main(int argument_count, char** arguments) {
    // Only the owner may read the files that are created.
    ::umask(077);
    CLI::App program("latchkey: a REST service whose every request is made with an API key",
                     "latchkey");
    int code = latchkey::cli::done;
    latchkey::cli::add_commands(program, code);
    try {
        program.parse(argument_count, arguments);
    } catch (CLI::ParseError const& error) {
        return latchkey::cli::report_parse_error(program, error);
    }
    return code;
}
