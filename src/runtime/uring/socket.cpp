#include "runtime/uring/socket.hpp"

#include <sys/socket.h>

#include "runtime/uring/buffers.hpp"

namespace latchkey::uring {

void accept(ring& owner, operation& op, int listener) {
    io_uring_prep_accept(owner.submission(op), listener, nullptr, nullptr, SOCK_CLOEXEC);
}

void accept_multishot(ring& owner, operation& op, int listener) {
    io_uring_prep_multishot_accept(owner.submission(op), listener, nullptr, nullptr, SOCK_CLOEXEC);
}

void receive_multishot(ring& owner, operation& op, int fd) {
    auto* const sqe = owner.submission(op);
    io_uring_prep_recv_multishot(sqe, fd, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = buffers::group;
}

void send(ring& owner, operation& op, int fd, std::string_view bytes) {
    io_uring_prep_send(owner.submission(op), fd, bytes.data(), bytes.size(),
                       MSG_NOSIGNAL | MSG_WAITALL);
}

void close(ring& owner, operation& op, int fd) {
    io_uring_prep_close(owner.submission(op), fd);
}

void close(ring& owner, int fd) {
    io_uring_prep_close(owner.submission(), fd);
}

void cancel(ring& owner, operation& target) {
    io_uring_prep_cancel64(owner.submission(), reinterpret_cast<std::uintptr_t>(&target), 0);
}

}  // namespace latchkey::uring
