#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>

#include "server/process/listener.hpp"
#include "server/process/systemd_notifier.hpp"

namespace latchkey::server {
namespace {

// The service manager's end of NOTIFY_SOCKET.
struct notify_receiver {
    int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    explicit notify_receiver(std::string name) {
        if (name.front() == '@') name.front() = '\0';
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path, name.size());
        auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    }
    ~notify_receiver() { ::close(fd); }
    std::string receive() const {
        char text[4096];
        auto const size = ::recv(fd, text, sizeof text, 0);
        return size < 0 ? "" : std::string(text, static_cast<std::size_t>(size));
    }
};

struct environment_variables {
    explicit environment_variables(std::vector<std::pair<char const*, std::string>> const& all) {
        for (auto const& [name, value] : all) ::setenv(name, value.c_str(), 1), set.push_back(name);
    }
    ~environment_variables() {
        for (auto const* name : set) ::unsetenv(name);
    }
    std::vector<char const*> set;
};

TEST(systemd_notifier, notifies_over_a_path_and_over_an_abstract_name) {
    auto const unique = "latchkey-notify-" + std::to_string(::getpid());
    auto const path = (std::filesystem::temp_directory_path() / unique).string();
    for (auto const& name : {path, "@" + unique}) {
        notify_receiver const manager(name);
        environment_variables const set({{"NOTIFY_SOCKET", name}});
        systemd_notifier const notifier;
        notifier.notify("READY=1\nSTATUS=serves");
        EXPECT_EQ(manager.receive(), "READY=1\nSTATUS=serves");
        notifier.notify_reloading(1'234'567'890);
        EXPECT_EQ(manager.receive(), "RELOADING=1\nMONOTONIC_USEC=1234567");
        EXPECT_EQ(notifier.watchdog_every(), 0);
    }
    std::filesystem::remove(path);
}

class absent_manager : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directory(folder_);
        std::filesystem::current_path(folder_);
    }
    void TearDown() override {
        std::filesystem::current_path(home_);
        std::filesystem::remove_all(folder_);
    }
    // What a socket at `place` receives while NOTIFY_SOCKET names another one.
    std::string received_at(std::string const& place, std::string const& notify_socket) {
        notify_receiver const manager(place);
        environment_variables const set(
            {{"NOTIFY_SOCKET", notify_socket}, {"WATCHDOG_USEC", "30000000"}});
        systemd_notifier const notifier;
        EXPECT_EQ(notifier.watchdog_every(), 0) << notify_socket;
        notifier.notify("READY=1");
        notifier.notify_reloading(1);
        return manager.receive();
    }

    std::filesystem::path const home_ = std::filesystem::current_path();
    std::filesystem::path const folder_ =
        std::filesystem::temp_directory_path() / ("latchkey-notify-" + std::to_string(::getpid()));
};

TEST_F(absent_manager, is_not_notified_at_invalid_addresses) {
    EXPECT_EQ(received_at("relative", "relative"), "");
    // The longest names that fit, and names of which those are the beginning.
    auto const path_max = sizeof(sockaddr_un::sun_path) - 1;
    auto const parent = folder_.string() + "/";
    auto const path = parent + std::string(path_max - parent.size(), 'x');
    EXPECT_EQ(received_at(path, path + "xx"), "");
    auto const name = "@" + folder_.filename().string() + std::string(200, 'x');
    EXPECT_EQ(received_at(name.substr(0, path_max + 1), name), "");
}

TEST_F(absent_manager, takes_no_descriptor_of_this_process) {
    auto const next_descriptor = [] {
        int const fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(fd);
        return fd;
    };
    auto const first_free = next_descriptor();
    for (auto const& value : {std::string(), std::string("relative"), std::string(200, '/')}) {
        environment_variables const set({{"NOTIFY_SOCKET", value}});
        systemd_notifier const notifier;
        EXPECT_EQ(next_descriptor(), first_free) << value;
    }
    systemd_notifier const unset;
    EXPECT_EQ(next_descriptor(), first_free);
}

// A manager that is not there yet: earlier notifications are lost, and block and harm nothing.
TEST_F(absent_manager, is_notified_once_it_exists) {
    auto const path = (folder_ / "late").string();
    environment_variables const set({{"NOTIFY_SOCKET", path}});
    systemd_notifier const notifier;
    notifier.notify("STATUS=starts");
    notify_receiver const manager(path);
    EXPECT_EQ(manager.receive(), "");
    notifier.notify("READY=1");
    EXPECT_EQ(manager.receive(), "READY=1");
}

TEST(systemd_notifier, uses_the_watchdog_interval_of_this_process_only) {
    auto const me = std::to_string(::getpid());
    environment_variables const socket({{"NOTIFY_SOCKET", "/nowhere"}});
    {
        environment_variables const set({{"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", me}});
        EXPECT_EQ(systemd_notifier().watchdog_every(), 15'000'000'000);
    }
    {
        environment_variables const set({{"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", "1"}});
        EXPECT_EQ(systemd_notifier().watchdog_every(), 0);
    }
    {
        environment_variables const set({{"WATCHDOG_USEC", "30000000"}});
        EXPECT_EQ(systemd_notifier().watchdog_every(), 15'000'000'000) << "for any process";
    }
    environment_variables const set({{"WATCHDOG_USEC", "soon"}});
    EXPECT_EQ(systemd_notifier().watchdog_every(), 0);
}

TEST(passed_sockets, are_for_this_process_only) {
    auto const me = std::to_string(::getpid());
    {
        environment_variables const set({{"LISTEN_PID", "1"}, {"LISTEN_FDS", "2"}});
        EXPECT_TRUE(passed_sockets().empty());
    }
    environment_variables const set(
        {{"LISTEN_PID", me}, {"LISTEN_FDS", "3"}, {"LISTEN_FDNAMES", "https:http-local"}});
    auto const passed_in = passed_sockets();
    ASSERT_EQ(passed_in.size(), 3u);
    EXPECT_EQ(passed_in[0].fd, 3);
    EXPECT_EQ(passed_in[0].name, "https");
    EXPECT_EQ(passed_in[1].name, "http-local");
    EXPECT_EQ(passed_in[2].fd, 5);
    EXPECT_EQ(passed_in[2].name, "");
    EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr);
    EXPECT_TRUE(passed_sockets().empty()) << "only once";
}

int listening_socket() {
    int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage address;
    auto const size = to_sockaddr(parse_listen_address("http://127.0.0.1:0").value(), address);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd, 8), 0);
    return fd;
}

TEST(listen_sockets, takes_the_sockets_of_a_name_with_their_addresses) {
    std::vector<passed_socket> const passed_in = {
        {listening_socket(), "https"}, {listening_socket(), "http"}, {listening_socket(), "https"}};
    auto const secure = parse_listen_address("fd:https").value();
    auto const sockets = listen_sockets::take(secure, passed_in);
    ASSERT_TRUE(sockets) << sockets.error().message;
    ASSERT_EQ(sockets->size(), 2u);
    for (auto const& each : *sockets) {
        EXPECT_TRUE(each.passed_in());
        EXPECT_TRUE(each.address().tls());
        EXPECT_TRUE(each.address().url().starts_with("https://127.0.0.1:")) << each.address().url();
        EXPECT_EQ(each.descriptor_of(0), each.descriptor_of(5));
    }
    auto const plain =
        listen_sockets::take(parse_listen_address("fd:http?proxy=v2").value(), passed_in);
    ASSERT_TRUE(plain);
    EXPECT_FALSE(plain->front().address().tls());
    EXPECT_TRUE(plain->front().address().proxy);
}

TEST(listen_sockets, refuses_unknown_names_and_sockets_that_do_not_listen) {
    auto const address = parse_listen_address("fd:https").value();
    auto const none = listen_sockets::take(address, {});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("socket unit"), std::string::npos);
    std::vector<passed_socket> const other_names = {{listening_socket(), "http-x"}};
    auto const named = listen_sockets::take(address, other_names);
    ASSERT_FALSE(named);
    EXPECT_NE(named.error().message.find("http-x"), std::string::npos);
    ::close(other_names[0].fd);
    std::vector<passed_socket> const datagrams = {
        {::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "https"}};
    EXPECT_FALSE(listen_sockets::take(address, datagrams));
    for (auto const* wrong : {"fd:", "fd:ftp", "fd:3", "fd:http:x", "fd:http x"})
        EXPECT_FALSE(parse_listen_address(wrong)) << wrong;
}

}  // namespace
}  // namespace latchkey::server
