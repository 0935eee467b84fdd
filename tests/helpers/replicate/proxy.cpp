#include "proxy.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/check.hpp"

namespace latchkey::replicate {
namespace {

sockaddr_in loopback(int port) {
    return {.sin_family = AF_INET,
            .sin_port = htons(static_cast<std::uint16_t>(port)),
            .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

}  // namespace

proxy::proxy(int server_port)
    : server_port_(server_port), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = loopback(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    base::check(::bind(listener_.get(), generic, size) == 0 && ::listen(listener_.get(), 16) == 0 &&
                    ::getsockname(listener_.get(), generic, &size) == 0,
                "cannot listen");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
}

proxy::~proxy() {
    ending_ = true;
    thread_.join();
}

void proxy::run() {
    while (!ending_) {
        if (cutting_.exchange(false)) {
            pairs_.clear();
            dropping_ = holding_ = false;
        }
        std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
        for (auto const& each : pairs_) {
            short const events = holding_ ? 0 : POLLIN;
            polled.push_back({each.client.get(), events, 0});
            polled.push_back({each.server.get(), holding_answers_ ? short{0} : events, 0});
        }
        ::poll(polled.data(), polled.size(), 5);
        std::vector<pair> rest;
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            auto& [client, server] = pairs_[i];
            bool open = true;
            if (!holding_ && polled[2 * i + 1].revents != 0)
                open = pass(client.get(), server.get(), false);
            if (!holding_ && polled[2 * i + 2].revents != 0)
                open = pass(server.get(), client.get(), true) && open;
            if (open) rest.push_back(std::move(pairs_[i]));
        }
        pairs_ = std::move(rest);
        if (polled[0].revents != 0) accept_one();
    }
}

void proxy::accept_one() {
    base::descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (refusing_ || !client.is_open()) return;
    base::descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto const address = loopback(server_port_);
    if (::connect(server.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0)
        pairs_.push_back({std::move(client), std::move(server)});
}

bool proxy::pass(int source, int target, bool answers) {
    std::array<char, 65536> bytes;
    auto const size = ::recv(source, bytes.data(), bytes.size(), 0);
    if (size <= 0) return false;
    if (answers && dropping_) return true;
    return ::send(target, bytes.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
}

}  // namespace latchkey::replicate
