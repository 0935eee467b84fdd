#include "server/net/acceptor.hpp"

#include <errno.h>
#include <sys/socket.h>

#include "base/time_units.hpp"
#include "runtime/uring/socket.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns pause_ns = 100 * base::millisecond;

// Trying again at once would spin; a socket that another process has shut down is of no use ever.
bool needs_pause(std::int32_t result) {
    return result == -EINVAL || result == -EMFILE || result == -ENFILE || result == -ENOMEM ||
           result == -ENOBUFS;
}

}  // namespace

acceptor::acceptor(worker_context& context, admission& admission, connection_balancer& balancer,
                   listener const& socket)
    : context_(context), admission_(admission), balancer_(balancer), listener_(socket) {
    accept_.self = pause_.self = this;
    accept_.complete = [](uring::operation& self, uring::completion const& cqe) {
        static_cast<accept_operation&>(self).self->on_accept(cqe);
    };
    pause_.fire = [](uring::timers::entry& self, base::mono_ns) {
        static_cast<pause_entry&>(self).self->arm();
    };
}

acceptor::~acceptor() {
    context_.timers().remove(pause_);
}

void acceptor::arm() {
    if (!context_.accepting || active()) return;
    auto* const accept = listener_.shared ? uring::accept : uring::accept_multishot;
    accept(context_.ring(), accept_, listener_.fd);
}

void acceptor::cancel() {
    if (!active()) return stop_listening();
    uring::cancel(context_.ring(), accept_);
}

accepted acceptor::socket_of(int fd) const {
    return {.fd = fd, .tls = listener_.tls, .proxy = listener_.proxy};
}

void acceptor::on_accept(uring::completion const& cqe) {
    if (cqe.result >= 0) {
        // On a socket that all accept on, the workers take turns anyway.
        if (listener_.shared)
            admission_.accept(socket_of(cqe.result));
        else
            balancer_.admit(socket_of(cqe.result));
    }
    if (active()) return;
    if (!context_.accepting) return stop_listening();
    if (needs_pause(cqe.result))
        context_.timers().arm(pause_, context_.now.mono + pause_ns);
    else
        arm();
}

// A client that connected before the stop is still served (its response says `Connection: close`);
// a later one is refused by the kernel at once and does not wait in a queue that is not emptied.
void acceptor::stop_listening() {
    if (listener_.passed_in || leaves_queue_) return;  // the queue is the next process' to serve
    for (int fd; (fd = ::accept4(listener_.fd, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
        admission_.accept(socket_of(fd));
    ::shutdown(listener_.fd, SHUT_RDWR);
}

}  // namespace latchkey::server
