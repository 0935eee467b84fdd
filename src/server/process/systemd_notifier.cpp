#include "server/process/systemd_notifier.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace latchkey::server {
namespace {

constexpr int first_passed_fd = 3;  // SD_LISTEN_FDS_START
constexpr std::uint64_t passed_fds_max = 1024;

std::string_view variable(char const* name) {
    auto const* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : value;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t number = 0;
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool is_this_process(std::string_view id) {
    return number_of(id) == static_cast<std::uint64_t>(::getpid());
}

}  // namespace

std::vector<passed_socket> passed_sockets() {
    std::vector<passed_socket> all;
    auto const count = number_of(variable("LISTEN_FDS")).value_or(0);
    if (is_this_process(variable("LISTEN_PID")) && count <= passed_fds_max) {
        auto names = variable("LISTEN_FDNAMES");
        for (int fd = first_passed_fd; fd < first_passed_fd + static_cast<int>(count); ++fd) {
            auto const colon = std::min(names.find(':'), names.size());
            all.push_back({fd, std::string(names.substr(0, colon))});
            names.remove_prefix(std::min(colon + 1, names.size()));
            ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        }
    }
    for (auto const* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
    return all;
}

systemd_notifier::systemd_notifier() {
    address_ = variable("NOTIFY_SOCKET");
    bool const usable = (address_.starts_with('/') || address_.starts_with('@')) &&
                        address_.size() < sizeof(sockaddr_un::sun_path);
    if (!usable) {
        address_.clear();
        return;
    }
    if (address_.front() == '@') address_.front() = '\0';
    socket_ = base::descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // A manager that does not read must not block the service.
    timeval const patience{.tv_sec = 0, .tv_usec = 200'000};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    auto const watchdog_pid = variable("WATCHDOG_PID");
    auto const microseconds = number_of(variable("WATCHDOG_USEC")).value_or(0);
    if (watchdog_pid.empty() || is_this_process(watchdog_pid))
        watchdog_every_ = static_cast<base::mono_ns>(microseconds) * 1000 / 2;
}

void systemd_notifier::notify(std::string_view lines) const {
    if (!socket_.is_open()) return;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(address_.begin(), address_.end(), address.sun_path);
    auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    ::sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
             reinterpret_cast<sockaddr*>(&address), size);
}

void systemd_notifier::notify_reloading(base::mono_ns now) const {
    notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now / 1000));
}

}  // namespace latchkey::server
