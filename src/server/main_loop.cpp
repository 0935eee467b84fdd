#include "server/main_loop.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/system/poll_until.hpp"

namespace latchkey::server {

base::result<std::unique_ptr<main_loop>> main_loop::make() {
    std::unique_ptr<main_loop> loop(new main_loop);
    sigset_t handled;
    sigemptyset(&handled);
    for (int const number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&handled, number);
    loop->signals_ = base::descriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    loop->wakes_ = base::descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!loop->signals_.is_open() || !loop->wakes_.is_open())
        return base::errno_error("cannot create the descriptors for signals", errno);
    return loop;
}

int main_loop::wait(base::mono_ns deadline) {
    for (;;) {
        polled_ = {{signals_.get(), POLLIN, 0},
                   {wakes_.get(), POLLIN, 0},
                   {management_ ? management_->fd() : -1, POLLIN, 0}};
        auto const own = polled_.size();
        for (int const fd : watched_) polled_.push_back({fd, POLLIN, 0});
        auto next = deadline;
        if (management_ && management_->next() != 0) next = std::min(next, management_->next());
        base::poll_until(polled_, next);
        bool const is_woken =
            std::any_of(polled_.begin() + static_cast<std::ptrdiff_t>(own), polled_.end(),
                        [](pollfd const& each) { return each.revents != 0; });

        auto const now = base::read_clocks();
        if (management_) management_->run(now);
        signalfd_siginfo signal{};
        if (::read(signals_.get(), &signal, sizeof signal) == sizeof signal)
            return static_cast<int>(signal.ssi_signo);
        std::uint64_t calls = 0;
        bool const is_called = ::read(wakes_.get(), &calls, sizeof calls) == sizeof calls;
        if (is_called || is_woken || now.mono >= deadline) return 0;
    }
}

void main_loop::wake() noexcept {
    std::uint64_t const one = 1;
    // Fails only when the counter is full, and then the descriptor is readable anyway.
    [[maybe_unused]] auto const size = ::write(wakes_.get(), &one, sizeof one);
}

}  // namespace latchkey::server
