#include "socket_client.hpp"

#include <errno.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <thread>
#include <utility>

namespace latchkey::server {

socket_client::socket_client(listen_address const& server, client_options options) {
    sockaddr_storage address;
    auto const size = to_sockaddr(server, address);
    fd_ = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval const patience{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int const enabled = 1;
    if (address.ss_family != AF_UNIX)
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
    if (options.receive_bytes != 0)
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &options.receive_bytes,
                     sizeof options.receive_bytes);
    if (options.local_address != nullptr && address.ss_family == AF_INET) {
        sockaddr_storage source;
        auto const url = "http://" + std::string(options.local_address) + ":0";
        auto const source_size = to_sockaddr(parse_listen_address(url).value(), source);
        EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&source), source_size), 0);
    }
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0;
    EXPECT_TRUE(connected_ || options.may_be_refused);
}

socket_client::~socket_client() {
    if (fd_ >= 0) ::close(fd_);
}

socket_client::socket_client(socket_client&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      connected_(other.connected_),
      error_(other.error_),
      received_(std::move(other.received_)) {}

socket_client& socket_client::operator=(socket_client&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(connected_, other.connected_);
    std::swap(error_, other.error_);
    received_.swap(other.received_);
    return *this;
}

bool socket_client::send(std::string_view bytes) const {
    while (!bytes.empty()) {
        auto const count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

std::string socket_client::receive(std::size_t piece_bytes, std::chrono::milliseconds pause) {
    for (;;) {
        auto const head = received_.find("\r\n\r\n");
        if (head != received_.npos) {
            auto const field = received_.find("Content-Length: ");
            auto const content = field < head ? std::stoul(received_.substr(field + 16)) : 0;
            auto const size = head + 4 + content;
            if (received_.size() >= size) {
                auto response = received_.substr(0, size);
                received_.erase(0, size);
                return response;
            }
        }
        if (pause.count() != 0) std::this_thread::sleep_for(pause);
        if (!receive_piece(piece_bytes)) return {};
    }
}

bool socket_client::receive_piece(std::size_t bytes_max) {
    std::string piece(bytes_max, '\0');
    auto const count = ::recv(fd_, piece.data(), piece.size(), 0);
    error_ = count < 0 ? errno : 0;
    if (count > 0) received_.append(piece, 0, static_cast<std::size_t>(count));
    return count > 0;
}

int socket_client::status_of(std::string_view response) {
    return response.empty() ? 0 : std::stoi(std::string(response.substr(9, 3)));
}

std::string_view socket_client::content_of(std::string_view response) {
    auto const head = response.find("\r\n\r\n");
    return head == response.npos ? std::string_view() : response.substr(head + 4);
}

bool socket_client::hung_up() const {
    pollfd state{fd_, 0, 0};
    return ::poll(&state, 1, 0) == 1;
}

bool socket_client::ends_with_reset() {
    while (receive_piece(64 * 1024)) {
    }
    return error_ == ECONNRESET;
}

}  // namespace latchkey::server
