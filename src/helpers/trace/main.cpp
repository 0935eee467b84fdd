#include <curl/curl.h>
#include <signal.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/system/standard_streams.hpp"
#include "helpers/kit/authorities.hpp"
#include "helpers/kit/confine_sender.hpp"
#include "helpers/kit/program.hpp"
#include "helpers/trace/trace_helper.hpp"

namespace {

constexpr std::string_view help =
    "latchkey-trace: the helper through which latchkey exports spans of requests\n"
    "\n"
    "latchkey starts it where tracing.endpoint is set; it is no program for people. It sends what\n"
    "the service gives it to that endpoint, by OTLP over HTTP in JSON. It has no access to the\n"
    "store or to keys, and ends with its service.\n"
    "\n"
    "  latchkey-trace --descriptor N   serve the service at the other end of descriptor N,\n"
    "                                  a socket of type SOCK_SEQPACKET\n"
    "  latchkey-trace --version\n"
    "  latchkey-trace --help\n"
    "\n"
    "Environment: SSL_CERT_FILE names authorities that take the place of those of the system.\n"
    "Exit codes: 0 the service has ended, 1 failure, 2 wrong usage.\n";

latchkey::base::result<void> serve(latchkey::base::descriptor socket, std::uint64_t session) {
    using namespace latchkey;
    ::signal(SIGPIPE, SIG_IGN);
    if (::curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return base::error{"libcurl does not start"};
    auto const authorities = kit::authorities_file();
    kit::watched_files files(authorities);
    // Before the sandbox: libcurl makes the descriptor by which it wakes itself up.
    auto const paths = files.paths();
    trace::helper helper(std::move(socket), std::move(files), authorities, session);
    if (auto const confined = kit::confine_sender(paths); !confined) return confined;
    return helper.run();
}

}  // namespace

int main(int argument_count, char** arguments) {
    latchkey::base::open_standard_streams();
    return latchkey::kit::run_helper({.name = "latchkey-trace", .help = help}, serve,
                                     argument_count, arguments);
}
