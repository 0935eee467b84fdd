#include "receiver.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <optional>

#include "base/check.hpp"
#include "wire/tls/session.hpp"

namespace latchkey::deliver {
namespace {

std::size_t number_in(std::string_view text) {
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string answer_of(unsigned status, std::string_view content, std::string_view fields = {}) {
    return "HTTP/1.1 " + std::to_string(status) +
           " x\r\ncontent-length: " + std::to_string(content.size()) + "\r\n" +
           std::string(fields) + "\r\n" + std::string(content);
}

}  // namespace

// Bytes of a connection, over TLS or not.
struct receiver::stream {
    int socket;
    std::unique_ptr<tls::context> context;
    std::unique_ptr<tls::session> session;
    std::string plain;

    bool send_raw(std::string_view bytes) const {
        while (!bytes.empty()) {
            auto const count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (count <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
        return true;
    }
    bool send(std::string_view bytes) const {
        if (!session) return send_raw(bytes);
        std::string output;
        return session->write(bytes, output) == tls::progress::done && send_raw(output);
    }
    // Appends what arrives to `plain`.
    bool receive() {
        char bytes[16384];
        auto const count = ::recv(socket, bytes, sizeof bytes, 0);
        if (count <= 0) return false;
        std::string_view input(bytes, static_cast<std::size_t>(count));
        if (!session) {
            plain.append(input);
            return true;
        }
        std::string output;
        auto progress = tls::progress::done;
        if (!session->established()) progress = session->handshake(input, output);
        while (session->established() && !input.empty() && progress != tls::progress::closed &&
               progress != tls::progress::failed)
            progress = session->read(input, plain, output, sizeof bytes);
        return send_raw(output) && progress != tls::progress::closed &&
               progress != tls::progress::failed;
    }
    std::optional<received_request> next_request() {
        for (;;) {
            auto const end = plain.find("\r\n\r\n");
            if (end != plain.npos) {
                auto const head = plain.substr(0, end + 2);
                auto const field = head.find("\r\nContent-Length: ");
                auto const size = field == head.npos ? 0 : number_in(head.substr(field + 18));
                if (plain.size() >= end + 4 + size) {
                    received_request request{head, plain.substr(end + 4, size)};
                    plain.erase(0, end + 4 + size);
                    return request;
                }
            }
            if (!receive()) return std::nullopt;
        }
    }
};

receiver::receiver(std::shared_ptr<tls::identity const> identity)
    : identity_(std::move(identity)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    base::check(::bind(listener_.get(), address, size) == 0 &&
                    ::listen(listener_.get(), SOMAXCONN) == 0 &&
                    ::getsockname(listener_.get(), address, &size) == 0,
                "no listener for a test");
    port_ = ::ntohs(place.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
}

receiver::~receiver() {
    {
        std::scoped_lock const lock(mutex_);
        is_over_ = true;
        for (int const socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (auto& each : threads_) each.join();
}

std::string receiver::url(std::string const& path) const {
    return (identity_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_) + path;
}

std::vector<received_request> receiver::requests() const {
    std::scoped_lock const lock(mutex_);
    return requests_;
}

void receiver::set_retry_after(std::string const& value) {
    std::scoped_lock const lock(mutex_);
    retry_after_ = value;
}

void receiver::accept_all() {
    for (;;) {
        int const socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
        std::scoped_lock const lock(mutex_);
        if (socket < 0 || is_over_) {
            if (socket >= 0) ::close(socket);
            return;
        }
        int const is_enabled = 1;
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &is_enabled, sizeof is_enabled);
        ++connections_;
        sockets_.push_back(socket);
        threads_.emplace_back([this, socket] { serve(socket); });
    }
}

void receiver::serve(int socket) {
    {
        stream peer{.socket = socket, .context = {}, .session = {}, .plain = {}};
        if (identity_) {
            peer.context = std::make_unique<tls::context>(identity_, tickets_, nullptr);
            peer.session = std::make_unique<tls::session>(*peer.context, nullptr);
        }
        while (auto const request = peer.next_request()) {
            {
                std::scoped_lock const lock(mutex_);
                requests_.push_back(*request);
            }
            if (!answer(peer, *request)) break;
        }
    }
    std::scoped_lock const lock(mutex_);
    sockets_.remove(socket);
    ::close(socket);
}

bool receiver::answer(stream& peer, received_request const& request) {
    auto const begin = request.head.find(' ') + 1;
    auto target = request.head.substr(begin, request.head.find_first_of(" ?", begin) - begin);
    target.erase(std::min(target.find('?'), target.size()));
    auto const slash = target.find('/', 1);
    auto const action = target.substr(0, slash);
    auto const value = slash == target.npos ? "" : target.substr(slash + 1);
    auto const filler = [&] { return std::string(number_in(value), 'x'); };
    if (action == "/ok") return peer.send(answer_of(200, "ok"));
    if (action == "/status")
        return peer.send(answer_of(static_cast<unsigned>(number_in(value)), "told"));
    if (action == "/big") return peer.send(answer_of(200, filler()));
    if (action == "/location") return peer.send(answer_of(302, "", "location: /ok\r\n"));
    if (action == "/retry") {
        std::scoped_lock const lock(mutex_);
        return peer.send(answer_of(503, "", "retry-after: " + retry_after_ + "\r\n"));
    }
    if (action == "/interim")
        return peer.send("HTTP/1.1 103 x\r\nlink: </x>\r\n\r\nHTTP/1.1 204 x\r\n\r\n");
    if (action == "/hang") return peer.receive();
    if (action == "/garbage") peer.send("220 mail.example ESMTP\r\n\r\n");
    if (action == "/head") peer.send("HTTP/1.1 200 x\r\n");
    for (auto left = action == "/head" ? number_in(value) : 0; left > 0;
         left -= std::min(left, 100ul))
        peer.send("x: " + std::string(95, 'x') + "\r\n");
    if (action == "/cut")
        peer.send("HTTP/1.1 200 x\r\ncontent-length: " + std::to_string(number_in(value) + 4) +
                  "\r\n\r\ntold");
    return false;
}

}  // namespace latchkey::deliver
