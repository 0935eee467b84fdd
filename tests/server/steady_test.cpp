// A whole worker on a real socket: once it is warm, a GET allocates nothing on any thread. The
// client uses the stack alone, so that everything that is counted is the service's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "../limit/allocations.hpp"
#include "running_worker.hpp"
#include "socket_client.hpp"

namespace latchkey::server {
namespace {

// Sends a request and takes its response, of less than 4 KiB; false when it is no 200. On the stack
// alone.
bool is_served(int fd, std::string_view request) {
    char response[4096];
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
        return false;
    auto const count = ::recv(fd, response, sizeof response, 0);
    return count > 15 && std::string_view(response, 15) == "HTTP/1.1 200 OK";
}

TEST(worker, allocates_nothing_for_a_get_once_it_is_warm) {
    if (!test::counts_allocations()) GTEST_SKIP() << "nothing is counted in this build";
    running_worker service;
    socket_client const client(service.address());
    auto const request = service.get("/users/1");
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(is_served(client.fd(), request)) << i;
    auto const baseline = test::allocations_everywhere();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(is_served(client.fd(), request)) << i;
    EXPECT_EQ(test::allocations_everywhere() - baseline, 0u);
}

// With tracing on: neither what is not sampled nor what is, even where the ring is full.
TEST(worker, allocates_nothing_for_a_span_once_it_is_warm) {
    if (!test::counts_allocations()) GTEST_SKIP() << "nothing is counted in this build";
    config settings;
    settings.tracing_endpoint = "http://127.0.0.1:4318/v1/traces";
    settings.tracing_sample_ratio = 0.5;
    running_worker service(settings);
    socket_client const client(service.address());
    auto const request = service.get("/users/1");
    for (int i = 0; i < 8000; ++i) ASSERT_TRUE(is_served(client.fd(), request)) << i;
    auto const baseline = test::allocations_everywhere();
    for (int i = 0; i < 2000; ++i) ASSERT_TRUE(is_served(client.fd(), request)) << i;
    EXPECT_EQ(test::allocations_everywhere() - baseline, 0u);
    EXPECT_GT(service.span_losses(), 0u) << "spans were made, more than the ring takes";
}

// An IPv6 address is longer than what a string holds without the heap.
TEST(access_log, allocates_nothing_for_a_line_about_any_client) {
    if (!test::counts_allocations()) GTEST_SKIP() << "nothing is counted in this build";
    std::string const client = "2001:db8:1111:2222:3333:4444:5555:6666";
    api::peer peer;
    peer.client = model::address::parse(client);
    log_entry entry;
    entry.begin("GET", "/api/v1/users/1", "steady", base::read_clocks());
    std::string lines;
    lines.reserve(4096);
    auto const maker = std::make_unique<access_lines>();
    auto const baseline = test::allocations();
    maker->append(entry, nullptr, peer, 1000, lines);
    EXPECT_EQ(test::allocations() - baseline, 0u);
    EXPECT_NE(lines.find("\"ip\":\"" + client + "\""), std::string::npos) << lines;
}

// A pipe that is not read stands for a slow disk: meanwhile lines go into buffers that were made at
// the start. (Found where the machine let the log's thread wait.)
TEST(access_log, allocates_nothing_while_the_disk_is_slow) {
    if (!test::counts_allocations()) GTEST_SKIP() << "nothing is counted in this build";
    auto const path =
        std::filesystem::temp_directory_path() / ("slow-" + std::to_string(::getpid()));
    ::signal(SIGPIPE, SIG_IGN);  // as the service does
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    int const reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    {
        auto log = log_thread::open(path).value();
        std::string lines;
        lines.reserve(64 * 1024);
        auto const baseline = test::allocations_everywhere();
        for (int i = 0; i < 6; ++i) {
            lines.assign(64 * 1024, 'x');
            lines.back() = '\n';
            log->submit(lines);
        }
        EXPECT_EQ(test::allocations_everywhere() - baseline, 0u);
        EXPECT_EQ(log->dropped(), 0u);
        ::close(reader);  // the rest of the lines is lost, so that the thread ends
    }
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace latchkey::server
