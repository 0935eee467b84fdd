#include "server/process/listener.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "../socket_client.hpp"
#include "server/process/config.hpp"

namespace latchkey::server {
namespace {

TEST(listen_sockets, finds_a_port_and_shares_it_among_workers) {
    auto const sockets =
        listen_sockets::open(parse_listen_address("http://127.0.0.1:0").value(), 3);
    ASSERT_TRUE(sockets) << sockets.error().message;
    EXPECT_NE(sockets->address().port, 0);
    EXPECT_NE(sockets->descriptor_of(0), sockets->descriptor_of(2));
    socket_client const client(sockets->address());
    EXPECT_TRUE(client.connected());
}

TEST(listen_sockets, refuses_a_port_that_another_program_has_even_if_it_would_share) {
    auto const first = listen_sockets::open(parse_listen_address("http://127.0.0.1:0").value(), 2);
    ASSERT_TRUE(first);
    auto const second = listen_sockets::open(first->address(), 2);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find(first->address().url()), std::string::npos);
    EXPECT_NE(second.error().message.find("another program has it"), std::string::npos);
}

TEST(listen_sockets, of_any_ipv6_address_take_ipv4_too_unless_another_has_it) {
    config configuration;
    configuration.listen = {"http://[::]:0"};
    auto const both = listen_sockets::open(listen_addresses(configuration).at(0), 2);
    ASSERT_TRUE(both) << both.error().message;
    auto const port = std::to_string(both->address().port);
    auto const v4 = parse_listen_address("http://127.0.0.1:" + port).value();
    EXPECT_TRUE(socket_client(v4).connected());
    EXPECT_TRUE(socket_client(parse_listen_address("http://[::1]:" + port).value()).connected());
    EXPECT_FALSE(parse_listen_address("http://[::1]:0").value().v4_too);

    auto const other = listen_sockets::open(parse_listen_address("http://127.0.0.1:0").value(), 2);
    ASSERT_TRUE(other);
    configuration.listen = {"http://[::]:" + std::to_string(other->address().port),
                            other->address().url()};
    auto const own = listen_sockets::open(listen_addresses(configuration).at(0), 2);
    EXPECT_TRUE(own) << own.error().message;
}

TEST(listen_sockets, replaces_an_abandoned_socket_and_no_other_file) {
    auto const folder =
        std::filesystem::temp_directory_path() / ("listener-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    auto const address = parse_listen_address("unix:" + (folder / "socket").string()).value();
    {
        // A socket that was bound and left behind.
        sockaddr_storage name;
        auto const size = to_sockaddr(address, name);
        int const fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&name), size), 0);
        ::close(fd);
    }
    {
        auto const sockets = listen_sockets::open(address, 2);
        ASSERT_TRUE(sockets) << sockets.error().message;
        EXPECT_FALSE(listen_sockets::open(address, 2)) << "one is listening there";
        EXPECT_EQ(std::filesystem::status(folder / "socket").permissions(),
                  static_cast<std::filesystem::perms>(0660));
        socket_client const client(address);
        EXPECT_TRUE(client.connected());
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "socket")) << "it is taken away at the end";
    FILE* const file = std::fopen((folder / "socket").c_str(), "w");
    std::fclose(file);
    EXPECT_FALSE(listen_sockets::open(address, 1));
    EXPECT_TRUE(std::filesystem::is_regular_file(folder / "socket"));
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace latchkey::server
