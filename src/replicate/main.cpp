#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/log.hpp"
#include "replicate/helper.hpp"

namespace {

constexpr std::string_view help =
    "latchkey-replicate: the helper through which latchkey speaks to PostgreSQL in a cluster\n"
    "\n"
    "latchkey starts it; it is no program for people. A node keeps its network closed, so this\n"
    "one process beside it reaches the engine: it appends to the log that all nodes share, reads\n"
    "what others appended, and renews the lease of its node. It ends with its node.\n"
    "\n"
    "  latchkey-replicate --descriptor N   serve the node at the other end of descriptor N,\n"
    "                                      a socket of type SOCK_SEQPACKET\n"
    "  latchkey-replicate --version\n"
    "  latchkey-replicate --help\n"
    "\n"
    "Exit codes: 0 the node has ended, 1 failure, 2 wrong usage.\n";

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

}  // namespace

int main(int argument_count, char** arguments) {
    std::string_view const option = argument_count > 1 ? arguments[1] : "";
    if (option == "--help" || option == "-h") return print(help);
    if (option == "--version") return print("latchkey-replicate " LATCHKEY_VERSION "\n");
    int const socket =
        option == "--descriptor" && argument_count == 3 ? parse_socket(arguments[2]) : -1;
    if (socket < 0) {
        latchkey::base::log(latchkey::base::severity::failure,
                            "latchkey-replicate takes --descriptor N, a SEQPACKET socket; it is "
                            "started by latchkey, not by people");
        return 2;
    }
    ::umask(077);
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the connection string may hold a password
    std::uint64_t session = 0;
    if (::getrandom(&session, sizeof session, 0) != sizeof session) return 1;
    // Lanes that wait have no end of their own: the process ends with them, as the last of all.
    auto* const helper =
        new latchkey::replicate::helper(latchkey::base::descriptor(socket), session);
    auto const result = helper->run();
    if (!result)
        latchkey::base::log(latchkey::base::severity::failure,
                            "latchkey-replicate: " + result.error().message);
    ::_exit(result ? 0 : 1);
}
