#include "server/net/client_socket.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/limits.hpp"
#include "runtime/uring/socket.hpp"

namespace latchkey::server {

client_socket::client_socket(worker_context& context, int fd, transport& owner)
    : context_(context), fd_(fd) {
    receiving.owner = sending.owner = closing.owner = &owner;
}

void client_socket::receive() {
    bool const is_held = paused_ || starved_ || input_ended_ || phase_ == phase::closing;
    if (receiving.active || is_held) return;
    uring::receive_multishot(context_.ring(), receiving, fd_);
}

void client_socket::pause() {
    paused_ = true;
    if (receiving.active) uring::cancel(context_.ring(), receiving);
}

void client_socket::feed() {
    starved_ = false;
    receive();
}

bool client_socket::drop(std::size_t bytes) {
    dropped_bytes_ += bytes;
    return dropped_bytes_ <= base::limits::lingering_bytes_max;
}

void client_socket::send(std::string_view bytes) {
    uring::send(context_.ring(), sending, fd_, bytes);
}

// Closing a socket with unread input resets the connection, and the client could lose the response.
void client_socket::linger() {
    ::shutdown(fd_, SHUT_WR);
    phase_ = phase::lingering;
    paused_ = false;
    receive();
}

// A close does not end operations that are armed on the socket: they are cancelled.
void client_socket::close() {
    phase_ = phase::closing;
    for (auto* const armed : {&receiving, &sending})
        if (armed->active) uring::cancel(context_.ring(), *armed);
    uring::close(context_.ring(), closing, fd_);
}

void client_socket::reset_on_close() const {
    struct linger const none{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

bool client_socket::has_unread_output() const {
    // After a reset the kernel has nothing any more, but still reports how much it was.
    std::uint8_t state = 0;  // the first member of tcp_info
    socklen_t size = sizeof state;
    if (::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &state, &size) == 0 && state == TCP_CLOSE)
        return false;
    int bytes = 0;
    return ::ioctl(fd_, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void client_socket::acknowledge() const {
    int const enabled = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &enabled, sizeof enabled);
}

// A reset that arrives together with data can leave a multishot receive armed on a dead socket
// (seen on Linux 6.18): until a deadline passes, only a poll shows it.
bool client_socket::has_failed() const {
    pollfd state{fd_, 0, 0};
    return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace latchkey::server
