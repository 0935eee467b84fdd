#include "server/process/confine.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "base/call_filter.hpp"
#include "base/write_now.hpp"

namespace latchkey::server {
namespace {

// The allow-list; any other call ends the process. Files are created or appended to for the access
// log, the rate limit buckets and a self-signed certificate.
constexpr std::uint32_t open_bits =
    O_ACCMODE | O_CREAT | O_TRUNC | O_PATH | (O_TMPFILE & ~O_DIRECTORY);
constexpr base::allowed_call calls[] = {
    // Connections, and the management listener.
    {__NR_io_uring_enter},
    {__NR_accept4},
    {__NR_recvfrom},
    {__NR_sendto},
    // To a successor: its listening sockets (process/handover.hpp). A process that may not make a
    // socket can reach no other peer that would take a descriptor.
    {__NR_sendmsg},
    {__NR_listen},
    {__NR_shutdown},
    {__NR_getpeername},
    {__NR_getsockname},
    {__NR_getsockopt},
    {__NR_setsockopt, 2, UINT32_MAX, SO_LINGER},
    {__NR_setsockopt, 2, UINT32_MAX, TCP_QUICKACK},
    {__NR_ioctl, 1, UINT32_MAX, SIOCOUTQ},
    {__NR_epoll_ctl},
    {__NR_epoll_pwait},
    {__NR_ppoll},
    {__NR_read},
    {__NR_write},
    {__NR_close},
    // A worker's end: its buffers and its ring are unregistered.
    {__NR_io_uring_register, 1, INT32_MAX, IORING_UNREGISTER_PBUF_RING},
    {__NR_io_uring_register, 1, INT32_MAX, IORING_UNREGISTER_RING_FDS},
    // The store, the log, the configuration, the certificate.
    {__NR_openat, 2, open_bits, O_RDONLY},
    {__NR_openat, 2, open_bits | O_APPEND, O_WRONLY | O_CREAT | O_APPEND},
    {__NR_openat, 2, open_bits | O_EXCL, O_WRONLY | O_CREAT | O_EXCL},
    {__NR_pread64},
    {__NR_pwrite64},
    {__NR_readv},
    {__NR_writev},
    {__NR_pwritev},
    {__NR_pwritev2},
    {__NR_lseek},
    {__NR_fdatasync},
    {__NR_fsync},
    {__NR_fallocate},
    {__NR_fstat},
    {__NR_fstatfs},
    {__NR_newfstatat},
    {__NR_statx},
    {__NR_faccessat},
    {__NR_mkdirat},
    {__NR_unlinkat},
    {__NR_renameat},
    {__NR_renameat2},
    {__NR_fcntl},
    {__NR_flock},
    {__NR_getcwd},
    {__NR_getdents64},
    {__NR_readlinkat},
    // Memory, but never executable.
    {__NR_mmap, 2, PROT_EXEC, 0},
    {__NR_mprotect, 2, PROT_EXEC, 0},
    {__NR_munmap},
    {__NR_mremap},
    {__NR_madvise},
    {__NR_brk},
    // Start and end of threads, clocks, signals, randomness.
    {__NR_futex},
    {__NR_sched_yield},
    {__NR_sched_getaffinity},
    {__NR_set_robust_list},
    {__NR_rseq},
    {__NR_prctl, 0, UINT32_MAX, PR_SET_NAME},
    {__NR_exit},
    {__NR_exit_group},
    {__NR_clock_gettime},
    {__NR_clock_nanosleep},
    {__NR_nanosleep},
    {__NR_gettimeofday},
    {__NR_restart_syscall},
    {__NR_rt_sigaction},
    {__NR_rt_sigprocmask},
    {__NR_rt_sigreturn},
    {__NR_getpid},
    {__NR_gettid},
    {__NR_geteuid},
    {__NR_getrandom},
    {__NR_uname},
    {__NR_sysinfo},
#if defined(__x86_64__)
    {__NR_epoll_wait},
    {__NR_poll},
    {__NR_stat},
    {__NR_lstat},
    {__NR_access},
    {__NR_mkdir},
    {__NR_unlink},
    {__NR_rename},
    {__NR_readlink},
    {__NR_time},
#endif
};
// The C library tries these and has a fallback: they fail instead of ending the process.
constexpr int calls_to_fail[] = {__NR_prlimit64, __NR_ioctl, __NR_sched_setaffinity};

// Ends the process as without a handler, after a line that says why.
void on_forbidden_call(int signal, siginfo_t* info, void*) {
    static constexpr std::string_view prefix = "latchkey: error: system call ",
                                      suffix =
                                          " is none that the service makes; the process ends "
                                          "(confined = false allows it)\n";
    char line[160];
    char* end = prefix.copy(line, prefix.size()) + line;
    end = std::to_chars(end, end + 16, info->si_syscall).ptr;
    end += suffix.copy(end, suffix.size());
    [[maybe_unused]] auto const count =
        base::write_now(STDERR_FILENO, {line, static_cast<std::size_t>(end - line)});
    ::signal(signal, SIG_DFL);
    ::syscall(__NR_tgkill, ::getpid(), ::gettid(), signal);
}

}  // namespace

void hide_memory() {
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

base::result<void> filter_system_calls() {
    struct sigaction handler{};
    handler.sa_sigaction = on_forbidden_call;
    handler.sa_flags = SA_SIGINFO;
    sigemptyset(&handler.sa_mask);
    if (::sigaction(SIGSYS, &handler, nullptr) != 0)
        return base::errno_error("cannot install a handler for forbidden system calls", errno);
    return base::filter_calls({calls},
                              {.trap = true, .failing = calls_to_fail, .all_threads = true});
}

}  // namespace latchkey::server
