// Each packet is one sendmsg or recvmsg; descriptors are its ancillary data, and a packet that was
// cut is an error. Receiving is tried again once after a reset, since what a peer sent before it
// closed is still there behind it. The socket's name is bound under a umask, so its mode is never
// wider.
#include "server/process/handover.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/system/poll_until.hpp"

namespace latchkey::server::handover {
namespace {

constexpr int backlog = 8;
constexpr std::array<std::string_view, 3> kind_names{"listener", "management", "handover"};

// A bound or connected address may have 107 characters: a longer one goes through the descriptor of
// its directory.
class socket_path {
  public:
    explicit socket_path(std::string const& directory) {
        address_.sun_family = AF_UNIX;
        auto path = directory + "/" + std::string(file_name);
        if (path.size() >= sizeof address_.sun_path) {
            folder_ = base::open_file(directory, O_PATH | O_DIRECTORY);
            path = "/proc/self/fd/" + std::to_string(folder_.get()) + "/" + std::string(file_name);
        }
        path.copy(address_.sun_path, sizeof address_.sun_path - 1);
    }
    sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&address_); }
    static constexpr socklen_t size = sizeof(sockaddr_un);

  private:
    base::descriptor folder_;
    sockaddr_un address_{};
};

base::descriptor make_socket() {
    return base::descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

void take_descriptors(msghdr& message, std::vector<base::descriptor>& output) {
    for (auto* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
        auto const count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(each) + i * sizeof number, sizeof number);
            output.emplace_back(number);
        }
    }
}

base::result<void> await_input(int socket, base::mono_ns deadline) {
    pollfd event{.fd = socket, .events = POLLIN, .revents = 0};
    if (base::poll_until({&event, 1}, deadline) > 0) return {};
    return base::error{"nothing came from the other process in time"};
}

// What was sent before a peer closed is there still, behind the reset that comes with input that it
// had not read.
template <class Receive>
ssize_t receive_past_reset(Receive receive) {
    auto const size = receive();
    return size < 0 && errno == ECONNRESET ? receive() : size;
}

struct control_space {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(descriptors_per_packet_max * sizeof(int))> bytes{};
};

}  // namespace

bool send(int socket, std::string_view text, std::vector<int> const& descriptors) {
    iovec part{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    control_space control;
    if (!descriptors.empty()) {
        auto const bytes = descriptors.size() * sizeof(int);
        message.msg_control = control.bytes.data();
        message.msg_controllen = CMSG_SPACE(bytes);
        auto* const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(bytes);
        std::memcpy(CMSG_DATA(head), descriptors.data(), bytes);
    }
    ssize_t size;
    do {
        size = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    return size == static_cast<ssize_t>(text.size());
}

base::result<packet> receive(int socket, base::mono_ns deadline) {
    if (auto const readable = await_input(socket, deadline); !readable) return readable.error();
    packet result;
    result.text.resize(packet_bytes_max);
    iovec part{result.text.data(), result.text.size()};
    control_space control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    auto const size =
        receive_past_reset([&] { return ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC); });
    if (size < 0 && errno != ECONNRESET)
        return base::errno_error("cannot hear the other process", errno);
    take_descriptors(message, result.descriptors);
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        return base::error{"the other process sent more than can be taken (too many descriptors?)"};
    result.text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return result;
}

base::result<packet> receive_text(int socket, base::mono_ns deadline) {
    if (auto const readable = await_input(socket, deadline); !readable) return readable.error();
    packet result;
    result.text.resize(packet_bytes_max);
    auto const size = receive_past_reset(
        [&] { return ::recv(socket, result.text.data(), result.text.size(), 0); });
    if (size < 0 && errno != ECONNRESET)
        return base::errno_error("cannot hear the other process", errno);
    result.text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return result;
}

bool has_own_user(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.uid == ::geteuid();
}

std::string text_of(socket_kind kind) {
    return std::string(kind_names[static_cast<std::size_t>(kind)]);
}

std::optional<socket_kind> socket_kind_of(std::string_view text) {
    auto const place = std::ranges::find(kind_names, text);
    if (place == kind_names.end()) return std::nullopt;
    return static_cast<socket_kind>(place - kind_names.begin());
}

// The directory is claimed: a file that is there is left over from a process that died.
base::result<base::descriptor> listen_in(std::string const& directory) {
    auto const path = directory + "/" + std::string(file_name);
    ::unlink(path.c_str());
    socket_path const address(directory);
    auto socket = make_socket();
    auto const mask = ::umask(0177);
    bool const bound =
        socket.is_open() && ::bind(socket.get(), address.get(), socket_path::size) == 0;
    int const number = errno;
    ::umask(mask);
    if (!bound) return base::errno_error("cannot make " + path, number);
    if (::listen(socket.get(), backlog) != 0)
        return base::errno_error("cannot listen on " + path, errno);
    return socket;
}

base::descriptor connect_in(std::string const& directory) {
    socket_path const address(directory);
    auto socket = make_socket();
    if (socket.is_open() && ::connect(socket.get(), address.get(), socket_path::size) != 0)
        socket.close();
    return socket;
}

}  // namespace latchkey::server::handover
