#include "deliver/confine.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <string>
#include <vector>

#include "base/call_filter.hpp"
#include "base/file_access.hpp"

namespace latchkey::deliver {
namespace {

// Libraries, what these read of their own settings, authorities.
constexpr std::array places{"/usr",
                            "/lib",
                            "/lib64",
                            "/etc/ssl/certs",
                            "/etc/ca-certificates",
                            "/etc/pki/tls/certs",
                            "/etc/pki/ca-trust",
                            "/etc/ssl/openssl.cnf",
                            "/etc/crypto-policies",
                            "/etc/ld.so.cache",
                            "/etc/localtime",
                            "/etc/services",
                            "/etc/protocols",
                            "/dev/urandom",
                            "/dev/null"};

constexpr std::uint32_t open_bits =
    O_ACCMODE | O_CREAT | O_TRUNC | O_PATH | (O_TMPFILE & ~O_DIRECTORY);
constexpr std::uint32_t thread_flags =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
constexpr base::allowed_call calls[] = {
    // Connections that it begins, and the channel. A pair of sockets: between libcurl's threads.
    {__NR_socket, 0, UINT32_MAX, AF_INET},
    {__NR_socket, 0, UINT32_MAX, AF_INET6},
    {__NR_socketpair, 0, UINT32_MAX, AF_UNIX},
    {__NR_connect},
    {__NR_sendto},
    {__NR_sendmsg},
    {__NR_sendmmsg},
    {__NR_recvfrom},
    {__NR_recvmsg},
    {__NR_shutdown},
    {__NR_getsockname},
    {__NR_getpeername},
    {__NR_getsockopt},
    {__NR_setsockopt},
    {__NR_ppoll},
    {__NR_epoll_create1},
    {__NR_epoll_ctl},
    {__NR_epoll_pwait},
    // Files, for reading; standard error.
    {__NR_openat, 2, open_bits, O_RDONLY},
    {__NR_read},
    {__NR_readv},
    {__NR_pread64},
    {__NR_write},
    {__NR_writev},
    {__NR_close},
    {__NR_lseek},
    {__NR_fstat},
    {__NR_newfstatat},
    {__NR_statx},
    {__NR_faccessat},
    {__NR_getdents64},
    {__NR_readlinkat},
    {__NR_fcntl},
    {__NR_ioctl, 1, UINT32_MAX, FIONREAD},  // of the resolver
    // Memory. Modules of the resolver are mapped from files.
    {__NR_mmap, 2, PROT_EXEC, 0},
    {__NR_mmap, 3, MAP_ANONYMOUS, 0},
    {__NR_mprotect, 2, PROT_EXEC, 0},
    {__NR_munmap},
    {__NR_mremap},
    {__NR_madvise},
    {__NR_brk},
    // Threads, which resolve names; no processes.
    {__NR_clone, 0, thread_flags, thread_flags},
    {__NR_set_robust_list},
    {__NR_rseq},
    {__NR_prctl, 0, UINT32_MAX, PR_SET_NAME},
    {__NR_sched_getaffinity},
    {__NR_sched_yield},
    {__NR_futex},
    {__NR_exit},
    // Clocks, signals, randomness, who it is, its end.
    {__NR_clock_gettime},
    {__NR_clock_nanosleep},
    {__NR_nanosleep},
    {__NR_gettimeofday},
    {__NR_getrusage},
    {__NR_restart_syscall},
    {__NR_rt_sigaction},
    {__NR_rt_sigprocmask},
    {__NR_rt_sigreturn},
    {__NR_getpid},
    {__NR_gettid},
    {__NR_getuid},
    {__NR_geteuid},
    {__NR_getgid},
    {__NR_getegid},
    {__NR_getrandom},
    {__NR_uname},
    {__NR_sysinfo},
    {__NR_exit_group},
#if defined(__x86_64__)
    {__NR_poll},
    {__NR_epoll_wait},
    {__NR_stat},
    {__NR_lstat},
    {__NR_access},
    {__NR_readlink},
    {__NR_time},
    {__NR_open, 1, open_bits, O_RDONLY},
#endif
};

}  // namespace

base::result<void> confine(std::span<std::string const> files) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return {};
#endif
#endif
    if (auto const given_up = base::give_up_privileges(); !given_up) return given_up;
    std::vector<std::string> readable(places.begin(), places.end());
    readable.insert(readable.end(), files.begin(), files.end());
    if (auto const restricted = base::restrict_files(readable); !restricted) return restricted;
    return base::filter_calls(calls);
}

}  // namespace latchkey::deliver
