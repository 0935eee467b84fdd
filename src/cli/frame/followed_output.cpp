#include "cli/frame/followed_output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "cli/frame/store_command.hpp"

namespace latchkey::cli {
namespace {

std::sig_atomic_t volatile stop = 0;

}  // namespace

void note_interrupts() {
    struct sigaction action{};
    action.sa_handler = [](int) { stop = 1; };
    ::sigaction(SIGINT, &action, nullptr);
}

bool is_interrupted() {
    return stop != 0;
}

bool write_followed(std::string_view text) {
    while (!text.empty()) {
        auto const count = ::write(STDOUT_FILENO, text.data(), text.size());
        if (count < 0 && errno == EINTR && stop == 0) continue;
        if (count < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

int end_of_output() {
    if (stop != 0) return interrupted;
    return report_failure(base::errno_error("cannot write to standard output", errno).message);
}

bool wait_for_more(int milliseconds) {
    pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    auto const count = ::poll(&output, 1, milliseconds);
    if (count <= 0 || (output.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0) return true;
    errno = EPIPE;
    return false;
}

}  // namespace latchkey::cli
