#include <signal.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <string_view>

#include "base/system/log.hpp"
#include "base/system/standard_streams.hpp"
#include "cli/command_program.hpp"
#include "cli/frame/standard_output.hpp"

namespace {

using namespace latchkey;

// The default action of these ends the process. A reload may be asked for before the service can
// hear of it; it waits until then. The others mean something to other servers, and nothing here.
void hold_signals() {
    sigset_t reload;
    sigemptyset(&reload);
    sigaddset(&reload, SIGHUP);
    ::sigprocmask(SIG_BLOCK, &reload, nullptr);
    ::signal(SIGUSR1, SIG_IGN);
    ::signal(SIGUSR2, SIG_IGN);
}

int run(int argument_count, char** arguments) {
    CLI::App program("latchkey: a REST service whose every request is made with an API key",
                     "latchkey");
    int code = cli::done;
    cli::add_commands(program, code);
    try {
        cli::parse_words(program,
                         {arguments + std::min(argument_count, 1), arguments + argument_count});
    } catch (CLI::ParseError const& error) {
        return cli::report_parse_error(program, error);
    } catch (std::exception const& error) {
        // Not a way of reporting errors: a command that ends here has a bug, or no memory.
        base::log(base::severity::failure,
                  "the command has failed unexpectedly: " + std::string(error.what()));
        return cli::failed;
    }
    return code;
}

}  // namespace

int main(int argument_count, char** arguments) {
    base::open_standard_streams();
    if (argument_count > 1 && std::string_view(arguments[1]) == "serve") hold_signals();
    // A pipe without a reader is an error of the write: the signal would end a command half way.
    ::signal(SIGPIPE, SIG_IGN);
    // Only the owner may read the files that are created.
    ::umask(077);
    return cli::end_output(run(argument_count, arguments));
}
