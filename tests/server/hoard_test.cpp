// Who asks for much and does not read it: what is reset then, when, and who is not.
#include <errno.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "running_worker.hpp"

namespace latchkey::server {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t kib = base::limits::kib;
constexpr std::size_t budget_mib = 1;
constexpr std::size_t half_of_budget = 512 * kib;
constexpr std::size_t posts = 40, post_bytes = 16 * kib;
constexpr char all_posts[] = "/posts?limit=40";   // more than half of the budget, less than all
constexpr char some_posts[] = "/posts?limit=30";  // less than half
constexpr char one_post[] = "/posts/1";
constexpr auto unread_for = 1s;  // then a connection is reset
constexpr auto patience = 10s;

class client {
  public:
    // Little fits between the two programs, so that it is the server that has to keep it.
    explicit client(running_worker const& of) : of_(of), fd_(connected_to(of.where(), 64 * kib)) {}
    ~client() { ::close(fd_); }
    client(client const&) = delete;
    client& operator=(client const&) = delete;

    void ask(std::string_view path, int times = 1) {
        std::string all;
        for (int i = 0; i < times; ++i) all += of_.get(path);
        EXPECT_EQ(::send(fd_, all.data(), all.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(all.size()));
    }
    // Takes one whole answer; false when it is not a 200. `pause`: how long to wait before each
    // `part` bytes.
    bool hear(std::size_t part = 64 * kib, std::chrono::milliseconds pause = 0ms) {
        for (;;) {
            auto const head = read_.find("\r\n\r\n");
            if (head != read_.npos) {
                auto const field = read_.find("Content-Length: ");
                auto const size = head + 4 + std::stoul(read_.substr(field + 16));
                if (read_.size() >= size) {
                    bool const good = read_.starts_with("HTTP/1.1 200 OK\r\n");
                    read_.erase(0, size);
                    return good;
                }
            }
            std::this_thread::sleep_for(pause);
            if (!take(part)) return false;
        }
    }
    bool is_served(std::string_view path) {
        ask(path);
        return hear();
    }
    // The other side has given the connection up; what it sent before may be there.
    bool was_ended() const {
        pollfd asked{fd_, 0, 0};
        return ::poll(&asked, 1, 0) == 1;
    }
    bool was_reset() {
        while (take(64 * kib)) {
        }
        return error_ == ECONNRESET;
    }

  private:
    bool take(std::size_t part) {
        std::string bytes(part, '\0');
        auto const got = ::recv(fd_, bytes.data(), bytes.size(), 0);
        error_ = got < 0 ? errno : 0;
        if (got > 0) read_.append(bytes, 0, static_cast<std::size_t>(got));
        return got > 0;
    }

    running_worker const& of_;
    int fd_ = -1;
    int error_ = 0;
    std::string read_;
};

struct hoards : testing::Test {
    running_worker service{{.overload_queued_mib = budget_mib}, posts, post_bytes};

    std::uint64_t held() const { return service.metrics().held_bytes.read(); }
    // Asks until the worker has to keep an answer that nobody takes, and says how often that was.
    int ask_until_kept(client& by) {
        for (int asked = 1; asked < 1000; ++asked) {
            auto const answered = service.metrics().bytes_out.read();
            by.ask(one_post);
            while (service.metrics().bytes_out.read() == answered) std::this_thread::sleep_for(1ms);
            bool kept = true;
            for (int i = 0; kept && i < 20; ++i) {
                std::this_thread::sleep_for(5ms);
                kept = held() != 0;
            }
            if (kept) return asked;
        }
        return 0;
    }
    std::uint64_t refused() const {
        return service.metrics()
            .problems[static_cast<std::size_t>(base::problem::overloaded)]
            .read();
    }
};

TEST_F(hoards, are_reset_and_nobody_else_is) {
    client modest(service), behaves(service), hoarder(service);
    ASSERT_TRUE(behaves.is_served("/users/1"));
    // It does not read either, but what is kept for it is less than its share.
    int unheard = ask_until_kept(modest);
    ASSERT_GT(unheard, 0);
    ASSERT_LT(held(), 4 * post_bytes);
    std::this_thread::sleep_for(unread_for + 200ms);

    auto const begun = clock::now();
    hoarder.ask(all_posts, 100);
    std::size_t served = 0;
    std::uint64_t most = 0;
    while (!hoarder.was_ended() && clock::now() < begun + patience) {
        ASSERT_TRUE(behaves.is_served("/users/1")) << "after " << served;
        ++served;
        most = std::max(most, held());
    }
    EXPECT_TRUE(hoarder.was_ended());
    EXPECT_GE(clock::now() - begun, unread_for);
    EXPECT_TRUE(hoarder.was_reset());
    EXPECT_GT(most, half_of_budget);
    EXPECT_GT(served, 10u);
    EXPECT_TRUE(behaves.is_served("/users/1"));
    EXPECT_LT(held(), half_of_budget);

    EXPECT_FALSE(modest.was_ended());
    for (; unheard > 0; --unheard) ASSERT_TRUE(modest.hear()) << unheard;
    EXPECT_TRUE(modest.is_served(all_posts));
    EXPECT_EQ(refused(), 0u);
}

TEST_F(hoards, are_borne_while_there_is_room) {
    client hoarder(service), behaves(service);
    hoarder.ask(some_posts);
    for (auto const begun = clock::now(); clock::now() < begun + unread_for + 500ms;
         std::this_thread::sleep_for(5ms))
        ASSERT_TRUE(behaves.is_served("/users/1"));
    EXPECT_GT(held(), half_of_budget * 3 / 4) << "more than its share";
    EXPECT_FALSE(hoarder.was_ended());
    EXPECT_TRUE(hoarder.hear());
}

TEST_F(hoards, are_not_what_is_taken_slowly) {
    client slow(service), behaves(service);
    slow.ask(all_posts);
    auto past_half = 0ms;
    std::atomic<bool> over{false};
    std::thread beside([&] {
        for (; !over; std::this_thread::sleep_for(10ms)) {
            EXPECT_TRUE(behaves.is_served("/users/1"));
            if (held() > half_of_budget) past_half += 10ms;
        }
    });
    EXPECT_TRUE(slow.hear(16 * kib, 80ms));
    over = true;
    beside.join();
    EXPECT_GT(past_half, unread_for) << "it was there to be reset";
    EXPECT_TRUE(slow.is_served(all_posts));
}

}  // namespace
}  // namespace latchkey::server
