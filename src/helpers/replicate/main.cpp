#include <cstdint>
#include <string_view>
#include <utility>

#include "base/system/standard_streams.hpp"
#include "helpers/kit/program.hpp"
#include "helpers/replicate/replicate_helper.hpp"

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

latchkey::base::result<void> serve(latchkey::base::descriptor socket, std::uint64_t session) {
    // Lanes that wait have no end of their own: the process ends with them, as the last of all.
    auto* const helper = new latchkey::replicate::helper(std::move(socket), session);
    return helper->run();
}

}  // namespace

int main(int argument_count, char** arguments) {
    latchkey::base::open_standard_streams();
    return latchkey::kit::run_helper({.name = "latchkey-replicate", .help = help}, serve,
                                     argument_count, arguments);
}
