#include "server/listener.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "server/cores.hpp"

namespace latchkey::server {
namespace {

constexpr int backlog = 4096;
// What the kernel takes of our answers beyond what the client's window lets it send.
constexpr int kernel_bytes_max = 128 * 1024;

// Accepted sockets inherit both.
void tune(int fd) {
    int const on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // Or megabytes that nobody reads would lie where no deadline and no budget sees them.
    ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kernel_bytes_max, sizeof kernel_bytes_max);
}

base::error cannot_listen(listen_address const& where, int number) {
    auto failure = base::errno_error("cannot listen on " + where.url(), number);
    if (number == EADDRINUSE)
        failure.message += "; another program has it, choose another port or end that program";
    if (number == EACCES) failure.message += "; ports below 1024 need CAP_NET_BIND_SERVICE";
    return failure;
}

// A bound stream socket, or a negative errno.
int bound_socket(listen_address const& where, bool shared) {
    sockaddr_storage address;
    auto const size = to_sockaddr(where, address);
    int const fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    int const on = 1;
    if (address.ss_family != AF_UNIX) {
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (shared) ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
        tune(fd);
    }
    if (address.ss_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return fd;
    int const number = errno;
    ::close(fd);
    return -number;
}

// A path that nobody answers on is left over from a process that died.
bool is_abandoned(listen_address const& where) {
    struct stat status {};
    if (::lstat(where.path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    sockaddr_storage address;
    auto const size = to_sockaddr(where, address);
    int const fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool const refused = fd >= 0 &&
                         ::connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 &&
                         errno == ECONNREFUSED;
    if (fd >= 0) ::close(fd);
    return refused;
}

}  // namespace

base::result<listening> listening::open(listen_address where, unsigned workers) {
    listening made;
    made.where_ = std::move(where);
    auto const opened = made.where_.scheme == listen_address::kind::unix_socket
                            ? made.open_unix()
                            : made.open_tcp(workers);
    if (!opened) return opened.error();
    for (int const fd : made.sockets_)
        if (::listen(fd, backlog) != 0) return cannot_listen(made.where_, errno);
    return made;
}

base::result<std::vector<listening>> listening::take(listen_address const& where,
                                                     std::span<handed_socket const> handed) {
    std::vector<listening> all;
    for (auto const& [fd, name] : handed) {
        if (name != where.path) continue;
        listening made;
        made.handed_ = true;
        made.sockets_.push_back(fd);
        if (auto const right = made.look_at_handed(where); !right) return right.error();
        all.push_back(std::move(made));
    }
    if (!all.empty()) return all;
    std::string names;
    for (auto const& each : handed) names += (names.empty() ? "" : ", ") + each.name;
    return base::error{"no socket was handed in for " + where.url() +
                       (names.empty() ? "; there are none at all (start the service through its "
                                        "socket unit)"
                                      : "; there are: " + names)};
}

base::result<void> listening::look_at_handed(listen_address const& where) {
    int const fd = sockets_[0];
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
        return base::error{"the socket handed in for " + where.url() +
                           " is none that listens (in its unit: ListenStream=, Accept=no)"};
    where_ = where;
    sockaddr_storage address{};
    size = sizeof address;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    if (auto const host = from_sockaddr(address)) {
        where_.scheme = where.tls() ? listen_address::kind::https : listen_address::kind::http;
        where_.host = *host;
        where_.port = port_of(address);
        tune(fd);
    }
    return {};
}

base::result<void> listening::open_tcp(unsigned workers) {
    int const trial = bound_socket(where_, false);
    if (trial < 0) return cannot_listen(where_, -trial);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(trial, reinterpret_cast<sockaddr*>(&address), &size);
    where_.port = port_of(address);
    ::close(trial);
    for (unsigned i = 0; i < workers; ++i) {
        int const fd = bound_socket(where_, true);
        if (fd < 0) return cannot_listen(where_, -fd);
        // Whose packets come in on the worker's core are the worker's; older kernels (below 6.2)
        // take no notice.
        if (auto const core = core_of(i))
            ::setsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &*core, sizeof *core);
        sockets_.push_back(fd);
    }
    return {};
}

base::result<void> listening::open_unix() {
    if (is_abandoned(where_)) ::unlink(where_.path.c_str());
    int const fd = bound_socket(where_, false);
    if (fd < 0) return cannot_listen(where_, -fd);
    sockets_.push_back(fd);
    ::chmod(where_.path.c_str(), 0660);
    return {};
}

listening::listening(listening&& from) noexcept
    : where_(std::move(from.where_)),
      sockets_(std::exchange(from.sockets_, {})),
      handed_(from.handed_) {}

listening::~listening() {
    for (int const fd : sockets_) ::close(fd);
    if (!sockets_.empty() && where_.scheme == listen_address::kind::unix_socket)
        ::unlink(where_.path.c_str());
}

}  // namespace latchkey::server
