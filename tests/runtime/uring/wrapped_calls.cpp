// Calls of the product that go to the fake kernel while there is one, otherwise to the real one.
// The linker redirects them (`--wrap`, see meson.build).
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "kernel.hpp"

using latchkey::fake::kernel;
using latchkey::fake::world;

extern "C" {

// NOLINTBEGIN: names required by the linker
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

// Restrictions, and enabling the ring.
int __wrap_io_uring_register(unsigned fd, unsigned opcode, void const* argument, unsigned count) {
    if (kernel::current() != nullptr) return 0;
    return __real_io_uring_register(fd, opcode, argument, count);
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

int __wrap_io_uring_register_buf_ring(io_uring* ring, io_uring_buf_reg* registration,
                                      unsigned flags) {
    if (auto* const fake = kernel::current()) return fake->register_buffers(*registration);
    return __real_io_uring_register_buf_ring(ring, registration, flags);
}

int __wrap_io_uring_unregister_buf_ring(io_uring* ring, int group) {
    if (auto* const fake = kernel::current()) return fake->unregister_buffers();
    return __real_io_uring_unregister_buf_ring(ring, group);
}

int __wrap_clock_gettime(clockid_t clock, timespec* result) {
    auto const* const simulation = world::current();
    if (simulation == nullptr) return __real_clock_gettime(clock, result);
    auto const now =
        clock == CLOCK_REALTIME ? simulation->wall() * latchkey::fake::ms : simulation->now();
    result->tv_sec = now / latchkey::fake::second;
    result->tv_nsec = now % latchkey::fake::second;
    return 0;
}

int __wrap_accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
    if (kernel::owns(fd)) return kernel::current()->accept_now(fd);
    return __real_accept4(fd, address, size, flags);
}

int __wrap_shutdown(int fd, int mode) {
    if (kernel::owns(fd)) return kernel::current()->shut(fd, mode);
    return __real_shutdown(fd, mode);
}

int __wrap_poll(pollfd* request, nfds_t count, int timeout) {
    if (count != 1 || !kernel::owns(request->fd)) return __real_poll(request, count, timeout);
    request->revents = kernel::current()->poll(request->fd);
    return request->revents == 0 ? 0 : 1;
}

int __wrap_getpeername(int fd, sockaddr* output, socklen_t* size) {
    if (!kernel::owns(fd)) return __real_getpeername(fd, output, size);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(40'000);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    __builtin_memcpy(output, &address, sizeof address);
    *size = sizeof address;
    return 0;
}
// NOLINTEND

}  // extern "C"
