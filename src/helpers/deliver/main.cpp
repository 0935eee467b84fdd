#include <curl/curl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/system/standard_streams.hpp"
#include "helpers/deliver/deliver_helper.hpp"
#include "helpers/kit/authorities.hpp"
#include "helpers/kit/confine_sender.hpp"
#include "helpers/kit/program.hpp"

namespace {

constexpr std::string_view help =
    "latchkey-deliver: the helper through which latchkey sends changes to webhooks\n"
    "\n"
    "latchkey starts it; it is no program for people. The service keeps its network closed, so\n"
    "this one process beside it reaches the receivers: it gets finished requests and gives back\n"
    "what became of each. It has no access to the store or to keys, and ends with its service.\n"
    "\n"
    "  latchkey-deliver --descriptor N   serve the service at the other end of descriptor N,\n"
    "                                    a socket of type SOCK_SEQPACKET\n"
    "  latchkey-deliver --version\n"
    "  latchkey-deliver --help\n"
    "\n"
    "Environment: SSL_CERT_FILE names authorities that take the place of those of the system.\n"
    "Exit codes: 0 the service has ended, 1 failure, 2 wrong usage.\n";

// Connections, those that are kept, and two sockets for each name that is looked up.
constexpr rlim_t descriptors_max = 8192;

void limit_resources() {
    ::signal(SIGPIPE, SIG_IGN);
    // Threads live for one look-up each: arenas of their own would only spread the heap.
    ::mallopt(M_ARENA_MAX, 2);
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
    descriptors.rlim_cur = std::min(descriptors.rlim_max, descriptors_max);
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
}

// Look-ups that have not ended at its end are not waited for: the process ends with them.
latchkey::base::result<void> serve(latchkey::base::descriptor socket, std::uint64_t session) {
    using namespace latchkey;
    limit_resources();
    if (::curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return base::error{"libcurl does not start"};
    auto const authorities = kit::authorities_file();
    kit::watched_files const files(authorities);
    if (auto const confined = kit::confine_sender(files.paths()); !confined) return confined;
    return deliver::helper(std::move(socket), files, authorities, session).run();
}

}  // namespace

int main(int argument_count, char** arguments) {
    latchkey::base::open_standard_streams();
    return latchkey::kit::run_helper({.name = "latchkey-deliver", .help = help}, serve,
                                     argument_count, arguments);
}
