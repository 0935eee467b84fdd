// The system calls that several programs make (call_filter.hpp). Constants; any thread.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/system/call_filter.hpp"

namespace latchkey::base {

inline constexpr std::uint32_t open_bits =
    O_ACCMODE | O_CREAT | O_TRUNC | O_PATH | (O_TMPFILE & ~O_DIRECTORY);

// Calls of a process that speaks over sockets which it already has, and opens files for reading.
inline constexpr allowed_call common_calls[] = {
    {__NR_sendto},
    {__NR_sendmsg},
    {__NR_recvfrom},
    {__NR_shutdown},
    {__NR_getsockname},
    {__NR_getpeername},
    {__NR_getsockopt},
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
    {__NR_fcntl},
    // Memory, but never executable.
    {__NR_mmap, 2, PROT_EXEC, 0},
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
    {__NR_geteuid},
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
#endif
};

// Calls of a process that speaks to other hosts through libraries: outgoing connections, the
// channel to its service, and modules of the resolver, which are mapped from files.
inline constexpr allowed_call client_calls[] = {
    {__NR_socket, 0, UINT32_MAX, AF_INET},
    {__NR_socket, 0, UINT32_MAX, AF_INET6},
    {__NR_connect},
    {__NR_sendmmsg},
    {__NR_recvmsg},
    {__NR_setsockopt},
    {__NR_mmap, 3, MAP_ANONYMOUS, 0},
    {__NR_getuid},
    {__NR_getgid},
    {__NR_getegid},
#if defined(__x86_64__)
    {__NR_open, 1, open_bits, O_RDONLY},
#endif
};

// Calls of a process with threads, and of one that waits by epoll.
inline constexpr allowed_call thread_calls[] = {
    {__NR_set_robust_list},   {__NR_rseq},      {__NR_prctl, 0, UINT32_MAX, PR_SET_NAME},
    {__NR_sched_getaffinity}, {__NR_epoll_ctl}, {__NR_epoll_pwait},
#if defined(__x86_64__)
    {__NR_epoll_wait},
#endif
};

}  // namespace latchkey::base
