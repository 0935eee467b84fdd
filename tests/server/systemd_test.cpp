#include "server/systemd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>

#include "server/listener.hpp"

namespace latchkey::server {
namespace {

// What a service manager's socket hears.
struct ear {
    int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    explicit ear(std::string name) {
        if (name.front() == '@') name.front() = '\0';
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        name.copy(at.sun_path, name.size());
        auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&at), size), 0);
    }
    ~ear() { ::close(fd); }
    std::string hear() const {
        char text[4096];
        auto const got = ::recv(fd, text, sizeof text, 0);
        return got < 0 ? "" : std::string(text, static_cast<std::size_t>(got));
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

TEST(manager, is_told_over_a_path_and_over_an_abstract_name) {
    auto const unique = "latchkey-notify-" + std::to_string(::getpid());
    auto const path = (std::filesystem::temp_directory_path() / unique).string();
    for (auto const& name : {path, "@" + unique}) {
        ear const hears(name);
        environment_variables const set({{"NOTIFY_SOCKET", name}});
        manager const of;
        of.tell("READY=1\nSTATUS=serves");
        EXPECT_EQ(hears.hear(), "READY=1\nSTATUS=serves");
        of.tell_reloading(1'234'567'890);
        EXPECT_EQ(hears.hear(), "RELOADING=1\nMONOTONIC_USEC=1234567");
        EXPECT_EQ(of.watchdog_every(), 0);
    }
    std::filesystem::remove(path);
}

TEST(manager, that_is_not_there_is_told_nothing) {
    for (auto const* name : {"", "relative", "/nowhere/at/all"}) {
        environment_variables const set({{"NOTIFY_SOCKET", name}});
        manager const of;
        of.tell("READY=1");
    }
    environment_variables const long_one({{"NOTIFY_SOCKET", "/" + std::string(200, 'x')}});
    manager const of;
    of.tell("READY=1");
}

TEST(manager, says_how_often_it_wants_to_hear_of_this_process_alone) {
    auto const me = std::to_string(::getpid());
    environment_variables const socket({{"NOTIFY_SOCKET", "/nowhere"}});
    {
        environment_variables const set({{"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", me}});
        EXPECT_EQ(manager().watchdog_every(), 15'000'000'000);
    }
    {
        environment_variables const set({{"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", "1"}});
        EXPECT_EQ(manager().watchdog_every(), 0);
    }
    environment_variables const set({{"WATCHDOG_USEC", "soon"}});
    EXPECT_EQ(manager().watchdog_every(), 0);
}

TEST(handed_sockets, are_for_this_process_alone) {
    auto const me = std::to_string(::getpid());
    {
        environment_variables const set({{"LISTEN_PID", "1"}, {"LISTEN_FDS", "2"}});
        EXPECT_TRUE(handed_sockets().empty());
    }
    environment_variables const set(
        {{"LISTEN_PID", me}, {"LISTEN_FDS", "3"}, {"LISTEN_FDNAMES", "https:http-local"}});
    auto const handed = handed_sockets();
    ASSERT_EQ(handed.size(), 3u);
    EXPECT_EQ(handed[0].fd, 3);
    EXPECT_EQ(handed[0].name, "https");
    EXPECT_EQ(handed[1].name, "http-local");
    EXPECT_EQ(handed[2].fd, 5);
    EXPECT_EQ(handed[2].name, "");
    EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr);
    EXPECT_TRUE(handed_sockets().empty()) << "only once";
}

int listening_socket() {
    int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage at;
    auto const size = to_sockaddr(parse_listen_address("http://127.0.0.1:0").value(), at);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(fd, 8), 0);
    return fd;
}

TEST(listening, takes_the_sockets_of_a_name_and_says_where_they_are) {
    std::vector<handed_socket> const handed = {
        {listening_socket(), "https"}, {listening_socket(), "http"}, {listening_socket(), "https"}};
    auto const secure = parse_listen_address("fd:https").value();
    auto const taken = listening::take(secure, handed);
    ASSERT_TRUE(taken) << taken.error().message;
    ASSERT_EQ(taken->size(), 2u);
    for (auto const& each : *taken) {
        EXPECT_TRUE(each.handed());
        EXPECT_TRUE(each.where().tls());
        EXPECT_TRUE(each.where().url().starts_with("https://127.0.0.1:")) << each.where().url();
        EXPECT_EQ(each.descriptor_of(0), each.descriptor_of(5));
    }
    auto const plain = listening::take(parse_listen_address("fd:http?proxy=v2").value(), handed);
    ASSERT_TRUE(plain);
    EXPECT_FALSE(plain->front().where().tls());
    EXPECT_TRUE(plain->front().where().proxy);
}

TEST(listening, refuses_a_name_that_nothing_was_handed_in_under_and_what_does_not_listen) {
    auto const where = parse_listen_address("fd:https").value();
    auto const none = listening::take(where, {});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("socket unit"), std::string::npos);
    std::vector<handed_socket> const others = {{listening_socket(), "http-x"}};
    auto const named = listening::take(where, others);
    ASSERT_FALSE(named);
    EXPECT_NE(named.error().message.find("http-x"), std::string::npos);
    ::close(others[0].fd);
    std::vector<handed_socket> const datagrams = {
        {::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "https"}};
    EXPECT_FALSE(listening::take(where, datagrams));
    for (auto const* wrong : {"fd:", "fd:ftp", "fd:3", "fd:http:x", "fd:http x"})
        EXPECT_FALSE(parse_listen_address(wrong)) << wrong;
}

}  // namespace
}  // namespace latchkey::server
