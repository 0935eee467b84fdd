#include "server/process/confine_service.hpp"

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "base/system/call_lists.hpp"
#include "base/system/write_now.hpp"

namespace latchkey::server {
namespace {

// The allow-list, beside the calls of any program with threads; any other call ends the process.
// Files are created or appended to for the access log, the rate limit buckets and a self-signed
// certificate. sendmsg, which is among the common ones, takes the listening sockets to a successor
// (process/handover.hpp): a process that may not make a socket can reach no other peer that would
// take a descriptor.
constexpr base::allowed_call calls[] = {
    // Connections, and the management listener.
    {__NR_io_uring_enter},
    {__NR_accept4},
    {__NR_listen},
    {__NR_setsockopt, 2, UINT32_MAX, SO_LINGER},
    {__NR_setsockopt, 2, UINT32_MAX, TCP_QUICKACK},
    {__NR_ioctl, 1, UINT32_MAX, SIOCOUTQ},
    // A worker's end: its buffers and its ring are unregistered.
    {__NR_io_uring_register, 1, INT32_MAX, IORING_UNREGISTER_PBUF_RING},
    {__NR_io_uring_register, 1, INT32_MAX, IORING_UNREGISTER_RING_FDS},
    // The store, the log, the configuration, the certificate.
    {__NR_openat, 2, base::open_bits | O_APPEND, O_WRONLY | O_CREAT | O_APPEND},
    {__NR_openat, 2, base::open_bits | O_EXCL, O_WRONLY | O_CREAT | O_EXCL},
    {__NR_pwrite64},
    {__NR_pwritev},
    {__NR_pwritev2},
    {__NR_fdatasync},
    {__NR_fsync},
    {__NR_fallocate},
    {__NR_fstatfs},
    {__NR_mkdirat},
    {__NR_unlinkat},
    {__NR_renameat},
    {__NR_renameat2},
    {__NR_flock},
    {__NR_getcwd},
#if defined(__x86_64__)
    {__NR_mkdir},
    {__NR_unlink},
    {__NR_rename},
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
    return base::filter_calls({base::common_calls, base::thread_calls, calls},
                              {.trap = true, .failing = calls_to_fail, .all_threads = true});
}

}  // namespace latchkey::server
