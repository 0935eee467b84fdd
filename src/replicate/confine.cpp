#include "replicate/confine.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "replicate/confine_files.hpp"

namespace latchkey::replicate {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
constexpr std::uint32_t first_x32_call = 0x40000000;  // the x32 ABI, with its own numbers
#elif defined(__aarch64__)
constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t first_x32_call = UINT32_MAX;
#endif

// A call that is allowed; with `argument`, only if the masked `bits` of it equal `value`.
struct allowed {
    int call;
    int argument = -1;
    std::uint32_t bits = 0, value = 0;
};

constexpr std::uint32_t open_bits =
    O_ACCMODE | O_CREAT | O_TRUNC | O_PATH | (O_TMPFILE & ~O_DIRECTORY);
constexpr allowed calls[] = {
    // Connections that it begins, and the channel. Netlink: which address families there are.
    {__NR_socket, 0, UINT32_MAX, AF_UNIX},
    {__NR_socket, 0, UINT32_MAX, AF_INET},
    {__NR_socket, 0, UINT32_MAX, AF_INET6},
    {__NR_socket, 0, UINT32_MAX, AF_NETLINK},
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
    {__NR_getcwd},
    {__NR_fcntl},
    // Memory. Modules of the resolver are mapped from files.
    {__NR_mmap, 2, PROT_EXEC, 0},
    {__NR_mmap, 3, MAP_ANONYMOUS, 0},
    {__NR_mprotect, 2, PROT_EXEC, 0},
    {__NR_munmap},
    {__NR_mremap},
    {__NR_madvise},
    {__NR_brk},
    // Clocks, signals, randomness, who it is, its end.
    {__NR_futex},
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
    {__NR_getuid},
    {__NR_geteuid},
    {__NR_getgid},
    {__NR_getegid},
    {__NR_getrandom},
    {__NR_uname},
    {__NR_sysinfo},
    {__NR_sched_yield},
    {__NR_exit},
    {__NR_exit_group},
#if defined(__x86_64__)
    {__NR_poll},
    {__NR_stat},
    {__NR_lstat},
    {__NR_access},
    {__NR_readlink},
    {__NR_time},
    {__NR_open, 1, open_bits, O_RDONLY},
#endif
};

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

void append(std::vector<sock_filter>& program, allowed const& each) {
    program.push_back(load(offsetof(seccomp_data, nr)));
    bool const conditional = each.argument >= 0;
    program.push_back(
        skip_unless_equal(static_cast<std::uint32_t>(each.call), conditional ? 4 : 1));
    if (conditional) {
        auto const index = static_cast<std::size_t>(each.argument);
        program.push_back(load(offsetof(seccomp_data, args) + sizeof(std::uint64_t) * index));
        program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, each.bits));
        program.push_back(skip_unless_equal(each.value, 1));
    }
    program.push_back(return_action(SECCOMP_RET_ALLOW));
}

// Whatever else is tried fails: libraries have a way around a refusal, and none around a signal.
std::vector<sock_filter> build_filter() {
    std::vector<sock_filter> filter{load(offsetof(seccomp_data, arch)),
                                    skip_unless_equal(machine, 1),
                                    BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
                                    return_action(SECCOMP_RET_KILL_PROCESS),
                                    load(offsetof(seccomp_data, nr)),
                                    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_x32_call, 0, 1),
                                    return_action(SECCOMP_RET_KILL_PROCESS)};
    for (auto const& each : calls) append(filter, each);
    // It may signal itself: abort().
    append(filter, {__NR_tgkill, 0, UINT32_MAX, static_cast<std::uint32_t>(::getpid())});
    filter.push_back(return_action(SECCOMP_RET_ERRNO | EPERM));
    return filter;
}

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

}  // namespace

base::result<void> confine([[maybe_unused]] std::vector<conninfo::setting> const& settings) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return {};
#endif
#endif
    if (auto const result = give_up_privileges(); !result) return result;
    if (auto const result = confine_files(settings); !result) return result;
    auto filter = build_filter();
    sock_fprog const program{.len = static_cast<unsigned short>(filter.size()),
                             .filter = filter.data()};
    if (::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return base::errno_error("this kernel accepts no system call filter", errno);
    return {};
}

}  // namespace latchkey::replicate
