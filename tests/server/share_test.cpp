// Workers that accept on one and the same socket: a Unix socket, or one that was handed in.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "running_worker.hpp"

namespace latchkey::server {
namespace {

using namespace std::chrono_literals;

class connections {
  public:
    ~connections() {
        for (int const fd : all_) ::close(fd);
    }
    void add(listen_address const& where) {
        sockaddr_storage address;
        auto const size = to_sockaddr(where, address);
        all_.push_back(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(all_.back(), reinterpret_cast<sockaddr*>(&address), size), 0);
    }

  private:
    std::vector<int> all_;
};

// How many of `count` connections, that come one after the other, each of two workers gets.
std::vector<std::size_t> spread(std::string const& url, std::size_t count) {
    running_worker beside;
    auto const socket = listening::open(parse_listen_address(url).value(), 1).value();
    supplies const given{std::make_shared<rulebook>(config{}), nullptr, nullptr};
    std::vector<std::unique_ptr<worker>> two;
    for (unsigned i = 1; i <= 2; ++i) {
        two.push_back(std::make_unique<worker>(beside.shared(), i, given));
        EXPECT_TRUE(two.back()->start({{.fd = socket.descriptor_of(0), .shared = true}}));
    }
    auto const got = [&] { return two[0]->connections() + two[1]->connections(); };
    std::vector<std::size_t> each;
    {
        connections open;
        for (std::size_t i = 1; i <= count; ++i) {
            open.add(socket.where());
            for (int wait = 0; got() < i && wait < 5000; ++wait) std::this_thread::sleep_for(1ms);
            EXPECT_EQ(got(), i);
        }
        each = {two[0]->connections(), two[1]->connections()};
    }
    for (auto const& one : two) one->stop_accepting();
    for (auto const& one : two) one->drain();
    for (auto const& one : two) one->finish();
    return each;
}

// Found by the suite for ThreadSanitizer, which saw no race where there was one: a multishot accept
// stays first in the socket's queue, so one worker got all of a Unix socket's connections.
TEST(workers, take_turns_on_a_socket_that_they_share) {
    auto const path =
        std::filesystem::temp_directory_path() / ("share-" + std::to_string(::getpid()));
    for (auto const& url : {"unix:" + path.string(), std::string("http://127.0.0.1:0")})
        for (auto const got : spread(url, 20)) EXPECT_GE(got, 5u) << "of 20 on " << url;
}

}  // namespace
}  // namespace latchkey::server
