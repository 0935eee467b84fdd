#include <curl/curl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/log.hpp"
#include "deliver/authorities.hpp"
#include "deliver/confine.hpp"
#include "deliver/helper.hpp"

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

int print(std::string_view text) {
    return ::write(STDOUT_FILENO, text.data(), text.size()) < 0 ? 1 : 0;
}

// A SEQPACKET socket, or -1.
int parse_socket(std::string_view text) {
    int number = -1;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), number);
    int type = 0;
    socklen_t size = sizeof type;
    bool const valid = end.ec == std::errc() && end.ptr == text.data() + text.size() &&
                       ::getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                       type == SOCK_SEQPACKET;
    return valid ? number : -1;
}

void limit_resources() {
    ::umask(077);
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // requests hold what authenticates the service
    ::signal(SIGPIPE, SIG_IGN);
    // Threads live for one look-up each: arenas of their own would only spread the heap.
    ::mallopt(M_ARENA_MAX, 2);
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
    descriptors.rlim_cur = std::min(descriptors.rlim_max, descriptors_max);
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
}

latchkey::base::result<void> serve(int socket) {
    using namespace latchkey;
    limit_resources();
    std::uint64_t session = 0;
    if (::getrandom(&session, sizeof session, 0) != sizeof session ||
        ::curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return base::error{"libcurl does not start"};
    auto const authorities = deliver::authorities_file();
    deliver::watched_files const files(authorities);
    if (auto const confined = deliver::confine(files.paths()); !confined) return confined;
    return deliver::helper(base::descriptor(socket), files, authorities, session).run();
}

}  // namespace

int main(int argument_count, char** arguments) {
    using namespace latchkey;
    std::string_view const option = argument_count > 1 ? arguments[1] : "";
    if (option == "--help" || option == "-h") return print(help);
    if (option == "--version") return print("latchkey-deliver " LATCHKEY_VERSION "\n");
    int const socket =
        option == "--descriptor" && argument_count == 3 ? parse_socket(arguments[2]) : -1;
    if (socket < 0) {
        base::log(base::severity::failure,
                  "latchkey-deliver takes --descriptor N, a SEQPACKET socket; it is started by "
                  "latchkey, not by people");
        return 2;
    }
    auto const result = serve(socket);
    if (!result) base::log(base::severity::failure, "latchkey-deliver: " + result.error().message);
    // Look-ups that have not ended are not waited for.
    ::_exit(result ? 0 : 1);
}
