#include "deliver/confine.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <string>
#include <vector>

#include "base/client_calls.hpp"
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

constexpr std::uint32_t thread_flags =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
constexpr base::allowed_call calls[] = {
    {__NR_socketpair, 0, UINT32_MAX, AF_UNIX},  // between libcurl's threads
    {__NR_epoll_create1},
    {__NR_epoll_ctl},
    {__NR_epoll_pwait},
    {__NR_ioctl, 1, UINT32_MAX, FIONREAD},  // of the resolver
    // Threads, which resolve names; no processes.
    {__NR_clone, 0, thread_flags, thread_flags},
    {__NR_set_robust_list},
    {__NR_rseq},
    {__NR_prctl, 0, UINT32_MAX, PR_SET_NAME},
    {__NR_sched_getaffinity},
    {__NR_getrusage},
#if defined(__x86_64__)
    {__NR_epoll_wait},
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
    base::file_grants grants{.read = {places.begin(), places.end()}};
    grants.read.insert(grants.read.end(), files.begin(), files.end());
    if (auto const restriction = base::restrict_files(grants); !restriction)
        return restriction.error();
    return base::filter_calls({base::client_calls, calls});
}

}  // namespace latchkey::deliver
