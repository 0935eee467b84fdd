#include <sys/stat.h>

#include <exception>
#include <string>

#include "base/log.hpp"
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
    } catch (std::exception const& error) {
        // Not a way of reporting errors: a command that ends here has a bug, or no memory.
        latchkey::base::log(latchkey::base::severity::failure,
                            "the command has failed unexpectedly: " + std::string(error.what()));
        return latchkey::cli::failed;
    }
    return code;
}
