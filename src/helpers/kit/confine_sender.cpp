#include "helpers/kit/confine_sender.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <string>
#include <vector>

#include "base/system/call_lists.hpp"
#include "helpers/kit/confine_helper.hpp"

namespace latchkey::kit {
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
    {__NR_ioctl, 1, UINT32_MAX, FIONREAD},  // of the resolver
    // Threads, which resolve names; no processes.
    {__NR_clone, 0, thread_flags, thread_flags},
    {__NR_getrusage},
};

}  // namespace

base::result<void> confine_sender(std::span<std::string const> files) {
    std::vector<std::string> readable(places.begin(), places.end());
    readable.insert(readable.end(), files.begin(), files.end());
    return confine(std::move(readable),
                   {base::common_calls, base::client_calls, base::thread_calls, calls});
}

}  // namespace latchkey::kit
