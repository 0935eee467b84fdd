// Sockets are bound first and listen later, since one that is bound and does not listen gets no
// connection; a successor can so prepare while its predecessor serves. A socket that was taken over
// keeps its descriptors, and is joined by as many as workers lack. Options are set before bind(),
// for accepted sockets inherit them.
#include "server/process/listener.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "server/process/cores.hpp"

namespace latchkey::server {
namespace {

constexpr int backlog = 4096;
// How much the kernel buffers of our responses beyond the client's receive window.
constexpr int kernel_bytes_max = 128 * 1024;

// Accepted sockets inherit both options.
void tune(int fd) {
    int const enable = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &enable, sizeof enable);
    // Otherwise the kernel buffers megabytes that no send deadline and no memory budget covers.
    ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kernel_bytes_max, sizeof kernel_bytes_max);
}

base::error cannot_listen(listen_address const& address, int number) {
    auto failure = base::errno_error("cannot listen on " + address.url(), number);
    if (number == EADDRINUSE)
        failure.message += "; another program has it, choose another port or end that program";
    if (number == EACCES) failure.message += "; ports below 1024 need CAP_NET_BIND_SERVICE";
    return failure;
}

// A bound stream socket; on failure it is not open, and errno says why.
base::descriptor bound_socket(listen_address const& address, bool shared) {
    sockaddr_storage name;
    auto const size = to_sockaddr(address, name);
    base::descriptor socket(
        ::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) return socket;
    int const fd = socket.get();
    int const enable = 1;
    if (name.ss_family != AF_UNIX) {
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &enable, sizeof enable);
        if (shared) ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &enable, sizeof enable);
        tune(fd);
    }
    // Said either way: /proc/sys/net/ipv6/bindv6only is the default.
    int const v6_only = address.v4_too ? 0 : 1;
    if (name.ss_family == AF_INET6)
        ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&name), size) != 0) socket.close();
    return socket;
}

// A socket file that refuses connections is left over from a process that died.
bool is_abandoned(listen_address const& address) {
    struct stat status{};
    if (::lstat(address.path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    sockaddr_storage name;
    auto const size = to_sockaddr(address, name);
    base::descriptor const socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return socket.is_open() &&
           ::connect(socket.get(), reinterpret_cast<sockaddr*>(&name), size) != 0 &&
           errno == ECONNREFUSED;
}

}  // namespace

base::result<listen_sockets> listen_sockets::open(listen_address address, unsigned workers) {
    auto result = reserve(std::move(address), workers);
    if (!result) return result;
    if (auto const listening = result->begin_listening(); !listening) return listening.error();
    return result;
}

base::result<listen_sockets> listen_sockets::reserve(listen_address address, unsigned workers) {
    listen_sockets result;
    result.address_ = std::move(address);
    result.configured_ = result.address_;
    auto const status = result.address_.scheme == listen_address::kind::unix_socket
                            ? result.open_unix()
                            : result.open_tcp(workers);
    if (!status) return status.error();
    return result;
}

// One that is bound beside others of its address, and does not listen yet, gets no connection.
base::result<listen_sockets> listen_sockets::adopt(listen_address address, unsigned workers,
                                                   handover::passed_listener passed) {
    listen_sockets result;
    result.address_ = std::move(address);
    result.configured_ = result.address_;
    result.sockets_ = std::move(passed.descriptors);
    result.listening_ = result.sockets_.size();
    result.is_handed_over_ = true;
    if (result.address_.scheme == listen_address::kind::passed_in) {
        result.passed_in_ = true;
        if (auto const status = result.inspect_passed_in(result.configured_); !status)
            return status.error();
        return result;
    }
    if (result.address_.scheme == listen_address::kind::unix_socket) return result;
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    ::getsockname(result.sockets_[0].get(), reinterpret_cast<sockaddr*>(&name), &size);
    result.address_.port = port_of(name);
    if (auto const status = result.add_tcp(workers); !status) return status.error();
    return result;
}

base::result<void> listen_sockets::begin_listening() {
    is_handed_over_ = false;
    for (; listening_ < sockets_.size(); ++listening_)
        if (::listen(sockets_[listening_].get(), backlog) != 0)
            return cannot_listen(address_, errno);
    return {};
}

std::vector<int> listen_sockets::descriptors_of(unsigned worker, unsigned workers) const {
    std::vector<int> all;
    if (sockets_.size() == 1) return {sockets_[0].get()};
    for (std::size_t i = worker; i < sockets_.size(); i += workers)
        all.push_back(sockets_[i].get());
    return all;
}

base::result<std::vector<listen_sockets>> listen_sockets::take(
    listen_address const& address, std::span<passed_socket const> passed_in) {
    std::vector<listen_sockets> all;
    for (auto const& [fd, label] : passed_in) {
        if (label != address.path) continue;
        listen_sockets result;
        result.passed_in_ = true;
        result.configured_ = address;
        result.sockets_.emplace_back(fd);
        result.listening_ = 1;
        if (auto const status = result.inspect_passed_in(address); !status) return status.error();
        all.push_back(std::move(result));
    }
    if (!all.empty()) return all;
    std::string names;
    for (auto const& each : passed_in) names += (names.empty() ? "" : ", ") + each.name;
    return base::error{"no socket was passed in for " + address.url() +
                       (names.empty() ? "; there are none at all (start the service through its "
                                        "socket unit)"
                                      : "; there are: " + names)};
}

base::result<void> listen_sockets::inspect_passed_in(listen_address const& address) {
    int const fd = sockets_[0].get();
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
        return base::error{"the socket passed in for " + address.url() +
                           " does not listen (its unit needs ListenStream= and Accept=no)"};
    address_ = address;
    sockaddr_storage name{};
    size = sizeof name;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
    if (auto const host = from_sockaddr(name)) {
        address_.scheme = address.tls() ? listen_address::kind::https : listen_address::kind::http;
        address_.host = *host;
        address_.port = port_of(name);
        tune(fd);
    }
    return {};
}

base::result<void> listen_sockets::open_tcp(unsigned workers) {
    auto trial = bound_socket(address_, false);
    if (!trial.is_open()) return cannot_listen(address_, errno);
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    ::getsockname(trial.get(), reinterpret_cast<sockaddr*>(&name), &size);
    address_.port = port_of(name);
    trial.close();
    return add_tcp(workers);
}

// Up to one for each worker.
base::result<void> listen_sockets::add_tcp(unsigned workers) {
    while (sockets_.size() < workers) {
        auto socket = bound_socket(address_, true);
        if (!socket.is_open()) return cannot_listen(address_, errno);
        sockets_.push_back(std::move(socket));
    }
    // Prefer connections whose packets arrive on the worker's core; ignored before Linux 6.2.
    for (unsigned i = 0; i < sockets_.size(); ++i)
        if (auto const core = core_of(i % workers))
            ::setsockopt(sockets_[i].get(), SOL_SOCKET, SO_INCOMING_CPU, &*core, sizeof *core);
    return {};
}

base::result<void> listen_sockets::open_unix() {
    if (is_abandoned(address_)) ::unlink(address_.path.c_str());
    auto socket = bound_socket(address_, false);
    if (!socket.is_open()) return cannot_listen(address_, errno);
    sockets_.push_back(std::move(socket));
    ::chmod(address_.path.c_str(), 0660);
    return {};
}

listen_sockets::listen_sockets(listen_sockets&& source) noexcept
    : address_(std::move(source.address_)),
      configured_(std::move(source.configured_)),
      sockets_(std::exchange(source.sockets_, {})),
      listening_(source.listening_),
      passed_in_(source.passed_in_),
      is_handed_over_(source.is_handed_over_) {}

listen_sockets::~listen_sockets() {
    bool const owned = !sockets_.empty() && !is_handed_over_;
    sockets_.clear();  // closed before the file is gone
    if (owned && address_.scheme == listen_address::kind::unix_socket)
        ::unlink(address_.path.c_str());
}

}  // namespace latchkey::server
