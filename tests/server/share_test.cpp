// Which worker gets a connection: of a socket that all accept on (a Unix socket, or one that was
// handed in), and of an address where each has its own.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "running_worker.hpp"
#include "server/cores.hpp"

namespace latchkey::server {
namespace {

using namespace std::chrono_literals;

class connections {
  public:
    connections() = default;
    ~connections() { close_all(); }
    connections& operator=(connections&& from) {
        close_all();
        all_ = std::exchange(from.all_, {});
        return *this;
    }
    int add(listen_address const& where) {
        all_.push_back(connected_to(where));
        return all_.back();
    }
    std::vector<int> const& all() const { return all_; }

  private:
    void close_all() {
        for (int const fd : all_) ::close(fd);
    }

    std::vector<int> all_;
};

bool comes_true(auto holds) {
    for (int wait = 0; wait < 5000; ++wait) {
        if (holds()) return true;
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

// Two workers beside the one that brings what they stand on.
class two_workers {
  public:
    two_workers(std::string const& url, unsigned first_index, bool shared,
                config const& settings = {})
        : socket_(listening::open(parse_listen_address(url).value(), shared ? 1 : 2).value()) {
        supplies const given{std::make_shared<rulebook>(settings), nullptr, nullptr};
        for (unsigned i = 0; i < 2; ++i) {
            each_.push_back(std::make_unique<worker>(beside_.shared(), first_index + i, given));
            EXPECT_TRUE(each_[i]->start({{.fd = socket_.descriptor_of(i), .shared = shared}}));
        }
        if (shared) return;
        each_[0]->meet({each_[1].get()});
        each_[1]->meet({each_[0].get()});
    }
    ~two_workers() {
        stop();
        for (auto const& one : each_) one->finish();
    }

    listen_address const& where() const { return socket_.where(); }
    worker& operator[](std::size_t i) { return *each_[i]; }
    std::string get(std::string_view path) const { return beside_.get(path); }
    std::uint64_t passed_on() const {
        return each_[0]->metrics().passed_on.read() + each_[1]->metrics().passed_on.read();
    }
    void wait_until_open(std::size_t count) {
        // For a moment one that goes over from waiting to open is counted twice.
        EXPECT_TRUE(
            comes_true([&] { return each_[0]->connections() + each_[1]->connections() == count; }));
    }
    // As the service does it; what is answered ends when its client closes.
    void stop() {
        beside_.shared().draining = true;
        for (auto const& one : each_) one->stop_accepting();
        for (auto const& one : each_) one->drain();
    }

  private:
    running_worker beside_;
    listening socket_;
    std::vector<std::unique_ptr<worker>> each_;
};

// How many of `count` connections, that come one after the other, each of two workers gets.
std::vector<std::size_t> spread(std::string const& url, std::size_t count) {
    two_workers two(url, 1, true);
    connections open;
    for (std::size_t i = 1; i <= count; ++i) {
        open.add(two.where());
        two.wait_until_open(i);
    }
    return {two[0].connections(), two[1].connections()};
}

// Found by the suite for ThreadSanitizer, which saw no race where there was one: a multishot accept
// stays first in the socket's queue, so one worker got all of a Unix socket's connections.
TEST(workers, take_turns_on_a_socket_that_they_share) {
    auto const path =
        std::filesystem::temp_directory_path() / ("share-" + std::to_string(::getpid()));
    for (auto const& url : {"unix:" + path.string(), std::string("http://127.0.0.1:0")})
        for (auto const got : spread(url, 20)) EXPECT_GE(got, 5u) << "of 20 on " << url;
}

// A client on one core: packets of the loopback come in where they are sent.
class runs_on {
  public:
    explicit runs_on(int core) {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    }
    ~runs_on() { sched_setaffinity(0, sizeof before_, &before_); }

  private:
    cpu_set_t before_{};
};

class on_their_cores : public testing::Test {
  protected:
    void SetUp() override {
        utsname system{};
        int major = 0, minor = 0;
        uname(&system);
        std::sscanf(system.release, "%d.%d", &major, &minor);
        if (major < 6 || (major == 6 && minor < 2)) GTEST_SKIP() << "the kernel does not choose";
        if (usable_cores() < 2) GTEST_SKIP() << "there is one core";
        cores_ = {*core_of(0), *core_of(1)};
    }

    std::vector<int> cores_;
};

TEST_F(on_their_cores, workers_get_the_connections_whose_packets_come_in_there) {
    two_workers two("http://127.0.0.1:0", 0, false);
    connections open;
    for (std::size_t i = 0; i < 20; ++i) {
        auto const mine = i % 2;
        auto const before = two[mine].connections();
        runs_on const core(cores_[mine]);
        open.add(two.where());
        two.wait_until_open(i + 1);
        EXPECT_EQ(two[mine].connections(), before + 1) << "connection " << i;
    }
    EXPECT_EQ(two.passed_on(), 0u);
}

TEST_F(on_their_cores, a_worker_keeps_no_more_than_its_share) {
    for (std::size_t mine : {0u, 1u}) {
        two_workers two("http://127.0.0.1:0", 0, false);
        connections open;
        runs_on const core(cores_[mine]);
        for (std::size_t i = 1; i <= 40; ++i) {
            open.add(two.where());
            two.wait_until_open(i);
        }
        // What waits is counted where it waits.
        auto const settled = [&] {
            auto const kept = two[mine].connections(), given = two[1 - mine].connections();
            return kept + given == 40 && given == two.passed_on() &&
                   kept <= balance::fair_share(given) && given >= 16;
        };
        EXPECT_TRUE(comes_true(settled)) << two[mine].connections() << ' '
                                         << two[1 - mine].connections() << ' ' << two.passed_on();
        // They live there.
        auto const request = two.get("/users/1");
        for (int const fd : open.all()) {
            ASSERT_EQ(::send(fd, request.data(), request.size(), 0),
                      static_cast<ssize_t>(request.size()));
            char answer[16] = {};
            ASSERT_EQ(::recv(fd, answer, 15, 0), 15);
            EXPECT_STREQ(answer, "HTTP/1.1 200 OK");
        }
    }
}

// Its share would be more than it may have.
TEST_F(on_their_cores, a_worker_at_its_bound_gives_all_to_those_that_are_not) {
    two_workers two("http://127.0.0.1:0", 0, false, {.connections = 20});
    connections open;
    runs_on const core(cores_[0]);
    for (std::size_t i = 1; i <= 40; ++i) {
        open.add(two.where());
        two.wait_until_open(i);
    }
    EXPECT_TRUE(comes_true([&] { return two[0].connections() == 20; })) << two[0].connections();
    EXPECT_EQ(two[1].connections(), 20u);
    // Whoever comes now is turned away.
    char byte;
    EXPECT_EQ(::recv(open.add(two.where()), &byte, 1, 0), 0);
    EXPECT_EQ(two[0].metrics().turned_down.read() + two[1].metrics().turned_down.read(), 1u);
}

// Also who was in the listener's queue, waited to be passed on, or was on his way.
class who_came_before_the_stop : public on_their_cores {
  protected:
    // Connects and asks, on one core.
    void come(two_workers& two, int count) {
        runs_on const core(cores_[0]);
        auto const request = two.get("/users/1");
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(::send(open_.add(two.where()), request.data(), request.size(), 0),
                      static_cast<ssize_t>(request.size()));
    }
    void expect_answers() {
        for (int const fd : open_.all()) {
            char answer[16] = {};
            ASSERT_EQ(::recv(fd, answer, 15, MSG_WAITALL), 15);
            ASSERT_STREQ(answer, "HTTP/1.1 200 OK");
        }
    }

    connections open_;
};

TEST_F(who_came_before_the_stop, is_answered) {
    for (int pause_ms : {0, 0, 1, 5, 9, 10, 11}) {
        SCOPED_TRACE(pause_ms);
        two_workers two("http://127.0.0.1:0", 0, false);
        open_ = {};
        come(two, 60);
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
        two.stop();
        expect_answers();
        open_ = {};  // or the workers linger
    }
}

// All wait in the listener's queue, and are more than the worker has buffers for at a time.
TEST_F(who_came_before_the_stop, is_answered_however_many_they_are) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max < 8'000) GTEST_SKIP() << "too few descriptors";
    int queue_max = 0;
    std::ifstream("/proc/sys/net/core/somaxconn") >> queue_max;
    if (queue_max < 4'000) GTEST_SKIP() << "queues of listeners are short";
    std::atomic<bool> go_on = false;  // a worker may look at it until it ends
    two_workers two("http://127.0.0.1:0", 0, false);
    for (auto const i : {0u, 1u}) two[i].ask([&] { go_on.wait(false); });
    come(two, 2500);
    two.stop();
    go_on = true;
    go_on.notify_all();
    expect_answers();
    open_ = {};
}

// A second signal says that nobody is to wait: those in the listener's queue are closed too.
TEST_F(who_came_before_the_stop, is_closed_where_it_is_hurried) {
    std::atomic<bool> go_on = false;
    two_workers two("http://127.0.0.1:0", 0, false);
    for (auto const i : {0u, 1u}) two[i].ask([&] { go_on.wait(false); });
    come(two, 100);
    two.stop();
    for (auto const i : {0u, 1u}) two[i].abort_all();
    go_on = true;
    go_on.notify_all();
    for (int const fd : open_.all()) {
        char byte;
        auto const got = ::recv(fd, &byte, 1, 0);
        EXPECT_TRUE(got == 0 || (got < 0 && errno == ECONNRESET)) << got << ' ' << errno;
    }
}

}  // namespace
}  // namespace latchkey::server
