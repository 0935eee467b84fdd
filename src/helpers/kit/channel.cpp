// Sending takes one packet at a time off the first message of a queue, so a message that is half
// sent goes on where the socket was full. Receiving appends packets to one partial message; it
// gives none away before all its bytes are there. Blocking calls are loops over the other ones and
// poll.
#include "helpers/kit/channel.hpp"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "base/system/poll_until.hpp"

namespace latchkey::kit {
namespace {

constexpr std::size_t head_bytes = 8;
constexpr std::size_t part_bytes_max = packet_bytes_max - head_bytes;
// The size of a socket's buffer: it takes some messages of usual size, so that a turn of the other
// side is enough.
constexpr int buffer_bytes = 1 << 20;

// False: the deadline has passed.
base::result<bool> wait_for(int socket, short events, base::mono_ns deadline) {
    pollfd waited{.fd = socket, .events = events, .revents = 0};
    int const count = base::poll_until({&waited, 1}, deadline);
    if (count < 0) return base::errno_error("cannot wait for a socket", errno);
    return count > 0;
}

}  // namespace

channel::channel(base::descriptor socket) : socket_(std::move(socket)) {
    int const flags = ::fcntl(socket_.get(), F_GETFL);
    ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
    packet_.resize(packet_bytes_max);
}

void channel::queue(std::string bytes) {
    has_unfit_ |= bytes.empty() || bytes.size() > message_bytes_max;
    if (has_unfit_) return;
    unsent_ += bytes.size();
    unsent_messages_.push_back(std::move(bytes));
}

void channel::drop_unsent() {
    unsent_messages_.clear();
    unsent_ = front_place_ = 0;
    has_unfit_ = false;
}

short channel::events() const {
    return unsent_ != 0 ? POLLIN | POLLOUT : POLLIN;
}

base::error channel::close(base::error reason) {
    is_closed_ = true;
    return reason;
}

base::result<bool> channel::flush() {
    if (has_unfit_) return close({"a message to send is beyond the bounds of a channel"});
    while (!unsent_messages_.empty()) {
        auto const progress = send_packet();
        if (!progress) return progress.error();
        if (!*progress) return false;
    }
    return true;
}

// False: the socket takes nothing now.
base::result<bool> channel::send_packet() {
    auto& bytes = unsent_messages_.front();
    auto const size = std::min(bytes.size() - front_place_, part_bytes_max);
    // Copied behind its head: one buffer, and one call that cannot pass descriptors.
    outgoing_.resize(head_bytes + size);
    char* const place =
        base::put(base::put(outgoing_.data(), static_cast<std::uint32_t>(bytes.size())),
                  static_cast<std::uint32_t>(front_place_));
    bytes.copy(place, size, front_place_);
    if (::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_DONTWAIT) <
        0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return false;
        if (errno == EINTR) return true;
        return close(base::errno_error("cannot send a message", errno));
    }
    front_place_ += size;
    unsent_ -= size;
    if (front_place_ == bytes.size()) {
        unsent_messages_.pop_front();
        front_place_ = 0;
    }
    return true;
}

base::result<std::optional<std::string>> channel::receive() {
    for (;;) {
        auto const size =
            ::recv(socket_.get(), packet_.data(), packet_.size(), MSG_DONTWAIT | MSG_TRUNC);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return std::optional<std::string>();
        if (size < 0) return close(base::errno_error("cannot receive a message", errno));
        if (size == 0) return close({"the other side has closed the channel"});
        if (static_cast<std::size_t>(size) > packet_.size())
            return close({"a packet beyond the bounds of a channel"});
        auto const whole = take_packet({packet_.data(), static_cast<std::size_t>(size)});
        if (!whole) return close(whole.error());
        if (*whole) return std::optional(std::exchange(partial_, {}));
    }
}

// True: `partial_` is a whole message now.
base::result<bool> channel::take_packet(std::string_view packet) {
    base::reader head(packet);
    auto const whole = head.integer<std::uint32_t>();
    auto const place = head.integer<std::uint32_t>();
    auto const part = head.rest();
    if (!head.ok() || part.empty() || whole > message_bytes_max || place >= whole ||
        part.size() > whole - place)
        return base::error{"a packet that makes no sense"};
    if (place == 0) {
        partial_.clear();
        partial_size_ = whole;
    } else if (partial_size_ == 0) {
        return false;
    } else if (whole != partial_size_ || place != partial_.size()) {
        return base::error{"a packet that does not continue its message"};
    }
    partial_.append(part);
    if (partial_.size() < partial_size_) return false;
    partial_size_ = 0;
    return true;
}

base::result<void> channel::send(std::string bytes, base::mono_ns deadline) {
    queue(std::move(bytes));
    for (;;) {
        auto const flushed = flush();
        if (!flushed) return flushed.error();
        if (*flushed) return {};
        auto const waited = wait_for(descriptor(), POLLOUT, deadline);
        if (!waited) return waited.error();
        if (!*waited) return base::error{"a message was not taken in time"};
    }
}

base::result<std::optional<std::string>> channel::receive_until(base::mono_ns deadline) {
    for (;;) {
        auto arrival = receive();
        if (!arrival || *arrival) return arrival;
        auto const waited = wait_for(descriptor(), POLLIN, deadline);
        if (!waited) return waited.error();
        if (!*waited) return std::optional<std::string>();
    }
}

base::result<std::pair<base::descriptor, base::descriptor>> make_socket_pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return base::errno_error("cannot make a pair of sockets", errno);
    for (int const each : ends)
        ::setsockopt(each, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    return std::pair(base::descriptor(ends[0]), base::descriptor(ends[1]));
}

}  // namespace latchkey::kit
