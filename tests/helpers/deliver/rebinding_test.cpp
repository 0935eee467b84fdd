// A name whose address is another one with each look-up, in the process of the sender: this program
// answers for the resolver.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/system/descriptor.hpp"
#include "helpers/deliver/sender.hpp"

namespace {

std::mutex names_mutex;
std::vector<std::string> addresses;  // of every name
std::size_t lookup_count = 0;

struct entry {
    addrinfo info{};
    sockaddr_in place{};
    entry* next = nullptr;
};

}  // namespace

extern "C" int getaddrinfo(char const*, char const* service, addrinfo const* hints,
                           addrinfo** result) {
    std::scoped_lock const lock(names_mutex);
    ++lookup_count;
    if (hints != nullptr && hints->ai_family == AF_INET6) return EAI_NONAME;
    addrinfo** link = result;
    for (auto const& text : addresses) {
        auto each = std::make_unique<entry>();
        each->place.sin_family = AF_INET;
        each->place.sin_port =
            htons(static_cast<std::uint16_t>(service != nullptr ? std::atoi(service) : 0));
        ::inet_pton(AF_INET, text.c_str(), &each->place.sin_addr);
        each->info.ai_family = AF_INET;
        each->info.ai_socktype = SOCK_STREAM;
        each->info.ai_protocol = IPPROTO_TCP;
        each->info.ai_addrlen = sizeof each->place;
        each->info.ai_addr = reinterpret_cast<sockaddr*>(&each->place);
        *link = &each->info;
        link = &each.release()->info.ai_next;
    }
    *link = nullptr;
    return 0;
}

extern "C" void freeaddrinfo(addrinfo* list) noexcept {
    while (list != nullptr) {
        auto* const next = list->ai_next;
        delete reinterpret_cast<entry*>(list);
        list = next;
    }
}

namespace latchkey::deliver {
namespace {

// Answers 200 at every address of this machine, and tells at which.
class plain_receiver {
  public:
    plain_receiver() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        socklen_t size = sizeof place;
        auto* const generic = reinterpret_cast<sockaddr*>(&place);
        EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
        EXPECT_EQ(::listen(listener_.get(), 16), 0);
        EXPECT_EQ(::getsockname(listener_.get(), generic, &size), 0);
        port_ = ntohs(place.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~plain_receiver() {
        std::uint64_t const one = 1;
        EXPECT_EQ(::write(end_.get(), &one, sizeof one), sizeof one);
        thread_.join();
    }
    std::string url() const { return "http://rebind.example:" + std::to_string(port_) + "/"; }
    // The address at which each connection came in; after the answers.
    std::vector<std::string> connections() const {
        std::scoped_lock const lock(mutex_);
        return connections_;
    }
    void end_connection_after_next_answer() {
        std::scoped_lock const lock(mutex_);
        ends_ = true;
    }

  private:
    void serve() {
        std::vector<base::descriptor> sockets;
        for (;;) {
            std::vector<pollfd> polled{{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
            for (auto const& each : sockets) polled.push_back({each.get(), POLLIN, 0});
            if (::poll(polled.data(), polled.size(), -1) <= 0) continue;
            if (polled[0].revents != 0) return;
            for (std::size_t i = sockets.size(); i > 0; --i)
                if (polled[i + 1].revents != 0 && !answer(sockets[i - 1].get()))
                    sockets.erase(sockets.begin() + static_cast<std::ptrdiff_t>(i) - 1);
            if (polled[1].revents != 0) accept(sockets);
        }
    }
    void accept(std::vector<base::descriptor>& sockets) {
        auto& socket = sockets.emplace_back(::accept(listener_.get(), nullptr, nullptr));
        sockaddr_in place{};
        socklen_t size = sizeof place;
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&place), &size);
        char text[INET_ADDRSTRLEN];
        std::scoped_lock const lock(mutex_);
        connections_.emplace_back(::inet_ntop(AF_INET, &place.sin_addr, text, sizeof text));
    }
    // Requests are small and have no body: each arrives at once.
    bool answer(int socket) {
        char bytes[4096];
        if (::recv(socket, bytes, sizeof bytes, 0) <= 0) return false;
        std::scoped_lock const lock(mutex_);
        std::string const text = std::string("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n") +
                                 (ends_ ? "Connection: close\r\n\r\n" : "\r\n");
        ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
        return !std::exchange(ends_, false);
    }

    base::descriptor listener_, end_{::eventfd(0, EFD_CLOEXEC)};
    std::uint16_t port_ = 0;
    mutable std::mutex mutex_;
    std::vector<std::string> connections_;
    bool ends_ = false;
    std::thread thread_;
};

class rebinding : public testing::Test {
  protected:
    static void resolve_to(std::vector<std::string> list) {
        std::scoped_lock const lock(names_mutex);
        addresses = std::move(list);
    }
    deliver::protocol::result deliver(sender& sender) {
        sender.begin({.number = ++number,
                      .url = peer.url(),
                      .allow = {*model::cidr::parse("127.0.0.1/32")}});
        for (;;) {
            auto results = sender.turn();
            if (!results.empty()) return results.front();
            sender.wait(never.get(), EPOLLIN);
        }
    }

    std::vector<std::string> const checked{"127.0.0.1"};
    plain_receiver peer;
    base::descriptor never{::eventfd(0, EFD_CLOEXEC)};
    std::uint64_t number = 0;
};

TEST_F(rebinding, goes_to_no_address_that_was_not_checked) {
    sender first("");
    resolve_to(checked);
    EXPECT_EQ(deliver(first).status, 200);
    resolve_to({"127.0.0.2"});
    EXPECT_EQ(deliver(first).status, 200) << "the connection that was checked is kept";
    EXPECT_EQ(peer.connections(), checked);
    peer.end_connection_after_next_answer();
    EXPECT_EQ(deliver(first).status, 200);
    deliver(first);  // a new connection, wherever the name leads to now
    sender second("");
    auto const result = deliver(second);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.error, "the address 127.0.0.2 is in no network that http may reach");
    for (auto const& each : peer.connections()) EXPECT_EQ(each, checked[0]);
    EXPECT_GE(lookup_count, 2u);
}

TEST_F(rebinding, checks_each_address_of_a_name) {
    sender only("");
    resolve_to({"127.0.0.2", "127.0.0.1", "127.0.0.3"});
    EXPECT_EQ(deliver(only).status, 200);
    EXPECT_EQ(peer.connections(), checked);
}

}  // namespace
}  // namespace latchkey::deliver
