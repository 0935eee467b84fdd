// The calls of the product that reach the fake kernel while there is one, and the real one
// otherwise. The linker puts them in the way of the product's own (`--wrap`, see meson.build).
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "kernel.hpp"

using latchkey::fake::kernel;
using latchkey::fake::world;

extern "C" {

// NOLINTBEGIN: the names are the linker's
int __real_io_uring_queue_init_params(unsigned, io_uring*, io_uring_params*);
void __real_io_uring_queue_exit(io_uring*);
int __real_io_uring_register(unsigned, unsigned, void const*, unsigned);
int __real_io_uring_register_ring_fd(io_uring*);
int __real_io_uring_enter2(unsigned, unsigned, unsigned, unsigned, sigset_t*, size_t);
int __real_io_uring_register_buf_ring(io_uring*, io_uring_buf_reg*, unsigned);
int __real_io_uring_unregister_buf_ring(io_uring*, int);
int __real_clock_gettime(clockid_t, timespec*);
int __real_accept4(int, sockaddr*, socklen_t*, int);
int __real_shutdown(int, int);
int __real_poll(pollfd*, nfds_t, int);
int __real_getpeername(int, sockaddr*, socklen_t*);

int __wrap_io_uring_queue_init_params(unsigned entries, io_uring* ring, io_uring_params* params) {
    if (auto* const fake = kernel::current()) return fake->set_up(entries, *ring, *params);
    return __real_io_uring_queue_init_params(entries, ring, params);
}

void __wrap_io_uring_queue_exit(io_uring* ring) {
    if (auto* const fake = kernel::current()) return fake->tear_down();
    __real_io_uring_queue_exit(ring);
}

// Restrictions, and that the ring begins.
int __wrap_io_uring_register(unsigned fd, unsigned what, void const* with, unsigned count) {
    if (kernel::current() != nullptr) return 0;
    return __real_io_uring_register(fd, what, with, count);
}

int __wrap_io_uring_register_ring_fd(io_uring* ring) {
    if (kernel::current() != nullptr) return -EINVAL;  // as before Linux 5.18
    return __real_io_uring_register_ring_fd(ring);
}

int __wrap_io_uring_enter2(unsigned fd, unsigned to_submit, unsigned min_complete, unsigned flags,
                           sigset_t* argument, size_t size) {
    if (auto* const fake = kernel::current())
        return fake->enter(to_submit, min_complete, flags,
                           *reinterpret_cast<io_uring_getevents_arg const*>(argument));
    return __real_io_uring_enter2(fd, to_submit, min_complete, flags, argument, size);
}

int __wrap_io_uring_register_buf_ring(io_uring* ring, io_uring_buf_reg* what, unsigned flags) {
    if (auto* const fake = kernel::current()) return fake->register_buffers(*what);
    return __real_io_uring_register_buf_ring(ring, what, flags);
}

int __wrap_io_uring_unregister_buf_ring(io_uring* ring, int group) {
    if (auto* const fake = kernel::current()) return fake->unregister_buffers();
    return __real_io_uring_unregister_buf_ring(ring, group);
}

int __wrap_clock_gettime(clockid_t which, timespec* to) {
    auto const* const all = world::current();
    if (all == nullptr) return __real_clock_gettime(which, to);
    auto const now = which == CLOCK_REALTIME ? all->wall() * latchkey::fake::ms : all->now();
    to->tv_sec = now / latchkey::fake::second;
    to->tv_nsec = now % latchkey::fake::second;
    return 0;
}

int __wrap_accept4(int fd, sockaddr* from, socklen_t* size, int flags) {
    if (kernel::owns(fd)) return kernel::current()->accept_now(fd);
    return __real_accept4(fd, from, size, flags);
}

int __wrap_shutdown(int fd, int how) {
    if (kernel::owns(fd)) return kernel::current()->shut(fd, how);
    return __real_shutdown(fd, how);
}

int __wrap_poll(pollfd* asked, nfds_t count, int timeout) {
    if (count != 1 || !kernel::owns(asked->fd)) return __real_poll(asked, count, timeout);
    asked->revents = kernel::current()->poll(asked->fd);
    return asked->revents == 0 ? 0 : 1;
}

int __wrap_getpeername(int fd, sockaddr* to, socklen_t* size) {
    if (!kernel::owns(fd)) return __real_getpeername(fd, to, size);
    sockaddr_in who{};
    who.sin_family = AF_INET;
    who.sin_port = htons(40'000);
    who.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    __builtin_memcpy(to, &who, sizeof who);
    *size = sizeof who;
    return 0;
}
// NOLINTEND

}  // extern "C"
