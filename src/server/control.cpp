#include "server/control.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

namespace latchkey::server {

base::result<std::unique_ptr<control>> control::make() {
    std::unique_ptr<control> made(new control);
    sigset_t obeyed;
    sigemptyset(&obeyed);
    for (int const number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&obeyed, number);
    made->signals_ = ::signalfd(-1, &obeyed, SFD_CLOEXEC | SFD_NONBLOCK);
    made->wakes_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made->signals_ < 0 || made->wakes_ < 0)
        return base::errno_error("no descriptor for the signals", errno);
    return made;
}

control::~control() {
    if (signals_ >= 0) ::close(signals_);
    if (wakes_ >= 0) ::close(wakes_);
}

int control::wait(base::mono_ns until) {
    for (;;) {
        pollfd asked[] = {{signals_, POLLIN, 0},
                          {wakes_, POLLIN, 0},
                          {management_ ? management_->fd() : -1, POLLIN, 0}};
        auto next = until;
        if (management_ && management_->next() != 0) next = std::min(next, management_->next());
        auto const patience = std::max<base::mono_ns>(next - base::read_clocks().mono, 0);
        timespec const timeout{patience / 1'000'000'000, patience % 1'000'000'000};
        ::ppoll(asked, std::size(asked), &timeout, nullptr);

        auto const now = base::read_clocks();
        if (management_) management_->run(now);
        signalfd_siginfo signal{};
        if (::read(signals_, &signal, sizeof signal) == sizeof signal)
            return static_cast<int>(signal.ssi_signo);
        std::uint64_t calls = 0;
        if (::read(wakes_, &calls, sizeof calls) == sizeof calls || now.mono >= until) return 0;
    }
}

void control::wake() noexcept {
    std::uint64_t const one = 1;
    // It fails only when the counter is full, and then there is something to read.
    [[maybe_unused]] auto const written = ::write(wakes_, &one, sizeof one);
}

}  // namespace latchkey::server
