// Which worker gets a connection: from a socket that all accept on (a Unix socket, or one that was
// passed in), and from an address where each has its own.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../running_worker.hpp"
#include "../socket_client.hpp"
#include "server/process/cores.hpp"

namespace latchkey::server {
namespace {

using namespace std::chrono_literals;

using connections = std::vector<socket_client>;

bool becomes_true(auto holds) {
    for (int wait = 0; wait < 5000; ++wait) {
        if (holds()) return true;
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

// Two workers beside one that brings the services for them.
class two_workers {
  public:
    two_workers(std::string const& url, unsigned first_index, bool shared,
                config const& settings = {})
        : socket_(listen_sockets::open(parse_listen_address(url).value(), shared ? 1 : 2).value()) {
        worker_config const initial{std::make_shared<config_snapshot>(settings), nullptr, nullptr};
        for (unsigned i = 0; i < 2; ++i) {
            workers_.push_back(
                std::make_unique<worker>(services_.shared(), first_index + i, initial));
            EXPECT_TRUE(workers_[i]->start({{.fd = socket_.descriptor_of(i), .shared = shared}}));
        }
        if (shared) return;
        workers_[0]->set_peers({workers_[1].get()});
        workers_[1]->set_peers({workers_[0].get()});
    }
    ~two_workers() {
        stop();
        for (auto const& one : workers_) one->finish();
    }

    listen_address const& address() const { return socket_.address(); }
    worker& operator[](std::size_t i) { return *workers_[i]; }
    std::string get(std::string_view path) const { return services_.get(path); }
    std::uint64_t passed_on() const {
        return workers_[0]->metrics().passed_on.read() + workers_[1]->metrics().passed_on.read();
    }
    void wait_until_open(std::size_t count) {
        // A connection that goes over from waiting to open is counted twice for a moment.
        EXPECT_TRUE(becomes_true(
            [&] { return workers_[0]->connections() + workers_[1]->connections() == count; }));
    }
    // The same, and none of them waits to be passed on or is on its way to the other worker, so
    // that each is counted once. Only where `count` is all that ever connected.
    void wait_until_settled(std::size_t count) {
        EXPECT_TRUE(becomes_true([&] {
            if (workers_[0]->connections() + workers_[1]->connections() != count) return false;
            bool settled = true;
            for (auto const i : {0u, 1u})
                settled &= run_on_worker(i, [&] { return workers_[i]->balancer().due() == 0; });
            // What one was told to take over was posted before this.
            for (auto const i : {0u, 1u}) run_on_worker(i, [] { return true; });
            return settled && workers_[0]->connections() + workers_[1]->connections() == count;
        }));
    }
    // As the service does it; an answered connection ends when its client closes.
    void stop() {
        services_.shared().draining = true;
        for (auto const& one : workers_) one->stop_accepting();
        for (auto const& one : workers_) one->drain();
    }

  private:
    // On that worker's thread, between two turns.
    bool run_on_worker(std::size_t i, std::function<bool()> question) {
        std::promise<bool> answer;
        workers_[i]->post([&] { answer.set_value(question()); });
        return answer.get_future().get();
    }

    running_worker services_;
    listen_sockets socket_;
    std::vector<std::unique_ptr<worker>> workers_;
};

// How many connections, that come one after the other, the one of two workers has that has fewer of
// them, once that are `enough` or `count_max` are open.
std::size_t smaller_share(std::string const& url, std::size_t enough, std::size_t count_max) {
    two_workers two(url, 1, true);
    connections open;
    std::size_t share = 0;
    while (share < enough && open.size() < count_max) {
        open.emplace_back(two.address());
        two.wait_until_open(open.size());
        share = std::min(two[0].connections(), two[1].connections());
    }
    return share;
}

// Found by the suite for ThreadSanitizer, which saw no race where there was one: a multishot accept
// stays first in the socket's queue, so one worker got all of a Unix socket's connections. A worker
// whose thread waits for a processor gets fewer than its half.
TEST(workers, take_turns_on_a_socket_that_they_share) {
    auto const path =
        std::filesystem::temp_directory_path() / ("share-" + std::to_string(::getpid()));
    for (auto const& url : {"unix:" + path.string(), std::string("http://127.0.0.1:0")})
        EXPECT_EQ(smaller_share(url, 5, 400), 5u) << url;
}

// Runs the client on one core: packets of the loopback arrive on the core that sends them.
class core_affinity {
  public:
    explicit core_affinity(int core) {
        sched_getaffinity(0, sizeof previous_, &previous_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    }
    ~core_affinity() { sched_setaffinity(0, sizeof previous_, &previous_); }

  private:
    cpu_set_t previous_{};
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
        auto const local = i % 2;
        auto const previous = two[local].connections();
        core_affinity const core(cores_[local]);
        open.emplace_back(two.address());
        two.wait_until_open(i + 1);
        EXPECT_EQ(two[local].connections(), previous + 1) << "connection " << i;
    }
    EXPECT_EQ(two.passed_on(), 0u);
}

TEST_F(on_their_cores, a_worker_keeps_no_more_than_its_share) {
    for (std::size_t local : {0u, 1u}) {
        two_workers two("http://127.0.0.1:0", 0, false);
        connections open;
        core_affinity const core(cores_[local]);
        for (std::size_t i = 1; i <= 40; ++i) {
            open.emplace_back(two.address());
            two.wait_until_open(i);
        }
        // A waiting connection is counted where it waits.
        auto const settled = [&] {
            auto const local_count = two[local].connections(),
                       remote_count = two[1 - local].connections();
            return local_count + remote_count == 40 && remote_count == two.passed_on() &&
                   local_count <= connection_balancer::fair_share(remote_count) &&
                   remote_count >= 16;
        };
        EXPECT_TRUE(becomes_true(settled))
            << two[local].connections() << ' ' << two[1 - local].connections() << ' '
            << two.passed_on();
        // All are served.
        auto const request = two.get("/users/1");
        for (auto& client : open) EXPECT_EQ(client.status(request), 200);
    }
}

// Its share would be more than it may have.
TEST_F(on_their_cores, a_worker_at_its_bound_gives_all_to_those_that_are_not) {
    two_workers two("http://127.0.0.1:0", 0, false, {.connections = 20});
    connections open;
    core_affinity const core(cores_[0]);
    // One at a time: a connection on its way counts twice, and makes a worker seem full.
    for (std::size_t i = 1; i <= 40; ++i) {
        open.emplace_back(two.address());
        two.wait_until_settled(i);
    }
    EXPECT_EQ(two[0].connections(), 20u);
    EXPECT_EQ(two[1].connections(), 20u);
    // A further connection is turned down.
    char byte;
    EXPECT_EQ(::recv(open.emplace_back(two.address()).fd(), &byte, 1, 0), 0);
    EXPECT_EQ(two[0].metrics().turned_down.read() + two[1].metrics().turned_down.read(), 1u);
}

// Also a client in the listener's queue, one that waits to be passed on, or is on its way.
class connected_before_the_stop : public on_their_cores {
  protected:
    // Connects and sends a request, on one core.
    void connect_and_send(two_workers& two, int count) {
        core_affinity const core(cores_[0]);
        auto const request = two.get("/users/1");
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(open_.emplace_back(two.address()).send(request));
    }
    void expect_answers() {
        for (auto& client : open_) ASSERT_EQ(socket_client::status_of(client.receive()), 200);
    }

    connections open_;
};

TEST_F(connected_before_the_stop, is_answered) {
    for (int pause_ms : {0, 0, 1, 5, 9, 10, 11}) {
        SCOPED_TRACE(pause_ms);
        two_workers two("http://127.0.0.1:0", 0, false);
        open_.clear();
        connect_and_send(two, 60);
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
        two.stop();
        expect_answers();
        open_.clear();  // else the workers linger
    }
}

// All wait in the listener's queue, more than the worker has receive buffers at a time.
TEST_F(connected_before_the_stop, is_answered_however_many_they_are) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max < 8'000) GTEST_SKIP() << "too few descriptors";
    int queue_max = 0;
    std::ifstream("/proc/sys/net/core/somaxconn") >> queue_max;
    if (queue_max < 4'000) GTEST_SKIP() << "queues of listeners are short";
    std::atomic<bool> resume = false;  // workers may read it until they end
    two_workers two("http://127.0.0.1:0", 0, false);
    for (auto const i : {0u, 1u}) two[i].post([&] { resume.wait(false); });
    connect_and_send(two, 2500);
    two.stop();
    resume = true;
    resume.notify_all();
    expect_answers();
    open_.clear();
}

// A second signal ends all at once: connections in the listener's queue are closed too.
TEST_F(connected_before_the_stop, is_closed_where_the_stop_is_forced) {
    std::atomic<bool> resume = false;
    two_workers two("http://127.0.0.1:0", 0, false);
    for (auto const i : {0u, 1u}) two[i].post([&] { resume.wait(false); });
    connect_and_send(two, 100);
    two.stop();
    for (auto const i : {0u, 1u}) two[i].abort_all();
    resume = true;
    resume.notify_all();
    for (auto const& client : open_) {
        char byte;
        auto const count = ::recv(client.fd(), &byte, 1, 0);
        EXPECT_TRUE(count == 0 || (count < 0 && errno == ECONNRESET)) << count << ' ' << errno;
    }
}

}  // namespace
}  // namespace latchkey::server
