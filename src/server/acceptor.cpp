#include "server/acceptor.hpp"

#include <errno.h>
#include <sys/socket.h>

#include "server/worker.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns pause_ns = 100'000'000;

// Trying again at once would spin.
bool is_shortage(std::int32_t result) {
    return result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -ENOBUFS;
}

}  // namespace

acceptor::acceptor(worker& home, listener const& socket) : on_(home), from_(socket) {
    accept_.self = pause_.self = this;
    accept_.complete = [](uring::operation& self, std::int32_t result, std::uint32_t flags) {
        static_cast<op&>(self).self->completed(result, flags);
    };
    pause_.fire = [](uring::timers::entry& self, base::mono_ns) {
        static_cast<pause_entry&>(self).self->arm();
    };
}

acceptor::~acceptor() {
    on_.timers().remove(pause_);
}

void acceptor::arm() {
    if (!on_.accepting() || active_) return;
    active_ = true;
    auto* const accept = from_.shared ? io_uring_prep_accept : io_uring_prep_multishot_accept;
    accept(on_.ring().submission(accept_), from_.fd, nullptr, nullptr, SOCK_CLOEXEC);
}

void acceptor::cancel() {
    if (!active_) return stop_listening();
    io_uring_prep_cancel64(
        on_.ring().submission(),
        reinterpret_cast<std::uintptr_t>(static_cast<uring::operation*>(&accept_)), 0);
}

void acceptor::completed(std::int32_t result, std::uint32_t flags) {
    if (!(flags & IORING_CQE_F_MORE)) active_ = false;
    if (result >= 0) {
        accepted const socket{.fd = result, .tls = from_.tls, .proxy = from_.proxy};
        // On a socket that all accept on they take turns anyway.
        if (from_.shared)
            on_.accept(socket);
        else
            on_.who_serves().admit(socket);
    }
    if (active_) return;
    if (!on_.accepting()) return stop_listening();
    if (is_shortage(result))
        on_.timers().arm(pause_, on_.now().mono + pause_ns);
    else
        arm();
}

// Who connected before the stop is still served (its answer says `Connection: close`); who comes
// later is refused by the kernel at once and does not wait in a queue that nobody empties.
void acceptor::stop_listening() {
    if (from_.handed) return;  // who waits is the next process' to serve
    for (int fd; (fd = ::accept4(from_.fd, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
        on_.accept({.fd = fd, .tls = from_.tls, .proxy = from_.proxy});
    ::shutdown(from_.fd, SHUT_RDWR);
}

}  // namespace latchkey::server
