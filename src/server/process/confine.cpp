#include "server/process/confine.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
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
#include <cstddef>
#include <string_view>
#include <vector>

namespace latchkey::server {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
constexpr std::uint32_t first_x32_call = 0x40000000;  // the x32 ABI, with its own numbers
#elif defined(__aarch64__)
constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t first_x32_call = UINT32_MAX;
#endif

// A call that the service makes; with `argument`, only if the masked `bits` of it equal `value`.
// The upper 32 bits of an argument are not compared: all the checked ones are flags and small
// numbers.
struct allowed {
    int call;
    int argument = -1;
    std::uint32_t bits = 0, value = 0;
};

// The allow-list; any other call ends the process. Files are created or appended to for the access
// log, the rate limit buckets and a self-signed certificate.
constexpr std::uint32_t open_bits =
    O_ACCMODE | O_CREAT | O_TRUNC | O_PATH | (O_TMPFILE & ~O_DIRECTORY);
constexpr allowed calls[] = {
    // Connections, and the management listener.
    {__NR_io_uring_enter},
    {__NR_accept4},
    {__NR_recvfrom},
    {__NR_sendto},
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
constexpr int calls_to_fail[] = {__NR_clone3, __NR_prlimit64, __NR_ioctl, __NR_sched_setaffinity};

// Instructions of classic BPF (Documentation/networking/filter.rst).
sock_filter load(std::size_t offset) {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter return_action(std::uint32_t action) {
    return BPF_STMT(BPF_RET | BPF_K, action);
}
sock_filter skip_unless_equal(std::uint32_t value, unsigned char count) {
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
}

constexpr std::size_t offset_of_argument(int index) {
    return offsetof(seccomp_data, args) + sizeof(std::uint64_t) * static_cast<std::size_t>(index);
}

void append(std::vector<sock_filter>& program, allowed const& each) {
    program.push_back(load(offsetof(seccomp_data, nr)));
    bool const conditional = each.argument >= 0;
    program.push_back(
        skip_unless_equal(static_cast<std::uint32_t>(each.call), conditional ? 4 : 1));
    if (conditional) {
        program.push_back(load(offset_of_argument(each.argument)));
        program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, each.bits));
        program.push_back(skip_unless_equal(each.value, 1));
    }
    program.push_back(return_action(SECCOMP_RET_ALLOW));
}

// The kernel caches the numbers that are allowed whatever their arguments (Linux 5.11), so the
// length of the list costs these nothing.
std::vector<sock_filter> build_filter() {
    std::vector<sock_filter> filter{load(offsetof(seccomp_data, arch)),
                                    skip_unless_equal(machine, 1),
                                    BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
                                    return_action(SECCOMP_RET_KILL_PROCESS),
                                    load(offsetof(seccomp_data, nr)),
                                    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_x32_call, 0, 1),
                                    return_action(SECCOMP_RET_KILL_PROCESS)};
    for (auto const& each : calls) append(filter, each);
    // A thread may signal its own process: abort().
    append(filter, {__NR_tgkill, 0, UINT32_MAX, static_cast<std::uint32_t>(::getpid())});
    for (int const each : calls_to_fail) {
        append(filter, {each});
        filter.back() = return_action(SECCOMP_RET_ERRNO | (each == __NR_clone3 ? ENOSYS : EPERM));
    }
    filter.push_back(return_action(SECCOMP_RET_TRAP));
    return filter;
}

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
        ::write(STDERR_FILENO, line, static_cast<std::size_t>(end - line));
    ::signal(signal, SIG_DFL);
    ::syscall(__NR_tgkill, ::getpid(), ::gettid(), signal);
}

}  // namespace

base::result<void> give_up_privileges() {
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capset, &header, none) != 0)
        return base::errno_error("cannot drop capabilities", errno);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return base::errno_error("cannot set PR_SET_NO_NEW_PRIVS", errno);
    return {};
}

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
    auto filter = build_filter();
    sock_fprog const program{.len = static_cast<unsigned short>(filter.size()),
                             .filter = filter.data()};
    long const code =
        ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (code == 0) return {};
    if (code > 0) return base::error{"a thread has a system call filter of its own"};
    return base::errno_error("this kernel accepts no system call filter", errno);
}

}  // namespace latchkey::server
