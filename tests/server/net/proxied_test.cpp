// Listeners behind a proxy that speaks PROXY protocol v2: which peers may name a client, and how
// many connections such a client may have open.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "../running_worker.hpp"
#include "../socket_client.hpp"
#include "auth/key_form.hpp"

namespace latchkey::server {
namespace {

using namespace std::string_literals;

constexpr char proxy_address[] = "127.0.0.9";
constexpr char other_address[] = "127.0.0.1";

std::string proxy_bytes(unsigned command, unsigned family, std::string const& addresses) {
    auto bytes = "\r\n\r\n\0\r\nQUIT\n"s;
    bytes += static_cast<char>(command);
    bytes += static_cast<char>(family);
    bytes += static_cast<char>(addresses.size() >> 8);
    bytes += static_cast<char>(addresses.size() & 255);
    return bytes + addresses;
}
std::string relayed_header(std::string_view client) {
    auto const bytes = model::address::parse(client).value().bytes;
    std::string const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    if (client.find(':') == client.npos)
        return proxy_bytes(0x21, 0x11, text.substr(12) + "\x0a\0\0\1\x12\x34\1\xbb"s);
    return proxy_bytes(0x21, 0x21, text + std::string(16, '\2') + "\x12\x34\1\xbb"s);
}
std::string const unknown_client = proxy_bytes(0x21, 0x00, "");
std::string const own_connection = proxy_bytes(0x20, 0x00, "");

// A worker with listeners for the proxy (TCP and Unix) and one for all clients.
class proxied : public testing::Test {
  protected:
    void SetUp() override {
        config rules;
        rules.trusted_proxies = {proxy_address};
        worker_config const initial{std::make_shared<config_snapshot>(rules), nullptr, nullptr};
        auto& base = services_.shared();
        shared_.reset(new common{base.store, base.writer, base.buckets, base.failures, base.cursors,
                                 counts_, base.log, base.signer});
        worker_ = std::make_unique<worker>(*shared_, 1, initial);
        std::vector<listener> listeners;
        for (auto const& socket : sockets_)
            listeners.push_back({.fd = socket.descriptor_of(0), .proxy = socket.address().proxy});
        ASSERT_TRUE(worker_->start(listeners));
    }
    void TearDown() override {
        shared_->draining = true;
        worker_->stop_accepting();
        worker_->drain();
        worker_->finish();
    }
    static listen_sockets open(std::string const& url) {
        return listen_sockets::open(parse_listen_address(url).value(), 1).value();
    }
    socket_client connect(std::size_t socket, char const* local_address) {
        return socket_client(sockets_[socket].address(), {.local_address = local_address});
    }
    socket_client connect_proxy() { return connect(0, proxy_address); }

    // With the key of the service, or with `key`.
    std::string get(std::string_view scheme, std::string const& key = {}) const {
        auto request = "GET /api/v1/users/1 HTTP/1.1\r\nHost: a\r\nX-API-Key: "s;
        request.append(key.empty() ? services_.key() : key).append("\r\n");
        if (!scheme.empty()) request.append("X-Forwarded-Proto: ").append(scheme).append("\r\n");
        return request + "\r\n";
    }
    std::string add_key(std::string_view allowed_network) {
        auth::fresh_key const fresh("test");
        model::key record;
        record.digest = auth::digest_of(fresh.text());
        record.scopes.add("users:read");
        record.ip_allowlist = {*model::cidr::parse(allowed_network)};
        std::vector<domain::command> commands(1);
        commands[0].action = domain::create_key{record};
        EXPECT_EQ(domain::apply(shared_->store, std::move(commands)).value().at(0).problem,
                  base::problem::none);
        return std::string(fresh.text());
    }

    static constexpr std::uint64_t per_address = 2;
    std::filesystem::path const path_ =
        std::filesystem::temp_directory_path() / ("proxied-" + std::to_string(::getpid()));
    running_worker services_;
    address_counts counts_{per_address, 64, 1};
    std::unique_ptr<common> shared_;
    std::unique_ptr<worker> worker_;
    std::vector<listen_sockets> sockets_ = [&] {
        std::vector<listen_sockets> all;
        all.push_back(open("http://127.0.0.1:0?proxy=v2"));
        all.push_back(open("http://127.0.0.1:0"));
        all.push_back(open("unix:" + path_.string() + "?proxy=v2"));
        return all;
    }();
};

TEST_F(proxied, the_client_is_the_one_that_the_proxy_names) {
    auto const inside = add_key("198.51.100.0/24");
    EXPECT_EQ(connect_proxy().status(relayed_header("198.51.100.9") + get("https", inside)), 200);
    EXPECT_EQ(connect_proxy().status(relayed_header("203.0.113.1") + get("https", inside)), 403);
    EXPECT_EQ(connect_proxy().status(unknown_client + get("https", inside)), 403);
    // Only the proxy knows whether the client came over TLS, however near the client is.
    for (auto const* client : {"198.51.100.9", "127.0.0.1", "::1"}) {
        EXPECT_EQ(connect_proxy().status(relayed_header(client) + get("https")), 200) << client;
        EXPECT_EQ(connect_proxy().status(relayed_header(client) + get("http")), 403) << client;
        EXPECT_EQ(connect_proxy().status(relayed_header(client) + get("")), 403) << client;
    }
}

TEST_F(proxied, no_other_peer_is_believed) {
    for (auto const& bytes : {relayed_header("198.51.100.9"), unknown_client, own_connection, ""s})
        EXPECT_EQ(connect(0, other_address).status(bytes + get("https")), 0);
    // Nor is the proxy without a header, with a malformed one, or where none is expected.
    EXPECT_EQ(connect_proxy().status(get("https")), 0);
    auto const malformed = relayed_header("198.51.100.9").replace(13, 1, "\x51");
    EXPECT_EQ(connect_proxy().status(malformed + get("https")), 0);
    EXPECT_EQ(connect(1, proxy_address).status(relayed_header("198.51.100.9") + get("https")), 400);
}

TEST_F(proxied, headers_are_believed_on_a_unix_socket) {
    auto const inside = add_key("198.51.100.0/24");
    auto const connect_unix = [&] { return connect(2, nullptr); };
    EXPECT_EQ(connect_unix().status(relayed_header("198.51.100.9") + get("https", inside)), 200);
    EXPECT_EQ(connect_unix().status(relayed_header("203.0.113.1") + get("https", inside)), 403);
    EXPECT_EQ(connect_unix().status(relayed_header("198.51.100.9") + get("")), 403);
    EXPECT_EQ(connect_unix().status(own_connection + get("")), 200);
}

TEST_F(proxied, clients_have_as_many_connections_as_are_allowed) {
    std::vector<socket_client> open;
    auto const status = [&](std::string const& bytes) {
        open.push_back(connect_proxy());
        return open.back().status(bytes + get("https"));
    };
    for (std::uint64_t i = 0; i < per_address; ++i)
        EXPECT_EQ(status(relayed_header("192.0.2.1")), 200);
    EXPECT_EQ(status(relayed_header("192.0.2.1")), 0);
    EXPECT_EQ(status(relayed_header("192.0.2.2")), 200);
    // An IPv6 /64 is one client.
    EXPECT_EQ(status(relayed_header("2001:db8::1")), 200);
    EXPECT_EQ(status(relayed_header("2001:db8::2")), 200);
    EXPECT_EQ(status(relayed_header("2001:db8::3")), 0);
    EXPECT_EQ(status(relayed_header("2001:db8:0:1::3")), 200);
    // Clients are counted: the proxy itself, and unknown clients, may have any number.
    for (std::uint64_t i = 0; i < 2 * per_address; ++i) {
        EXPECT_EQ(status(own_connection), 200);
        EXPECT_EQ(status(unknown_client), 200);
        EXPECT_EQ(status(relayed_header(proxy_address)), 200);
    }
    // A connection that ends makes room; one that was refused took none.
    open.erase(open.begin());
    for (int wait = 0; worker_->connections() >= open.size() && wait < 5000; ++wait) ::usleep(1000);
    int last = 0;
    for (int wait = 0; (last = status(relayed_header("192.0.2.1"))) == 0 && wait < 1000; ++wait)
        ::usleep(1000);
    EXPECT_EQ(last, 200);
    EXPECT_EQ(status(relayed_header("192.0.2.1")), 0);
}

TEST_F(proxied, direct_connections_of_a_client_count_too) {
    std::vector<socket_client> open;
    auto const status = [&](std::size_t socket, char const* address, std::string const& bytes) {
        open.push_back(connect(socket, address));
        return open.back().status(bytes + get("https"));
    };
    EXPECT_EQ(status(1, other_address, ""), 200);
    EXPECT_EQ(status(0, proxy_address, relayed_header(other_address)), 200);
    EXPECT_EQ(status(1, other_address, ""), 0);
    EXPECT_EQ(status(0, proxy_address, relayed_header(other_address)), 0);
    for (std::uint64_t i = 0; i < 2 * per_address; ++i)
        EXPECT_EQ(status(1, proxy_address, ""), 200) << "a trusted proxy has no limit";
}

}  // namespace
}  // namespace latchkey::server
