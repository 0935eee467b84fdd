// Clients that ask for much and do not read it, or send much and do not end: which are reset, when,
// and which are not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "../running_worker.hpp"
#include "../socket_client.hpp"
#include "base/system/descriptor.hpp"
#include "server/net/memory_holders.hpp"

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

struct slow_readers : testing::Test {
    running_worker service{{.overload_queued_mib = budget_mib}, posts, post_bytes};

    // Little fits between the two programs, so that it is the server that has to keep it.
    socket_client connect() const {
        return socket_client(service.address(), {.receive_bytes = 64 * kib});
    }
    void request(socket_client const& client, std::string_view path, int count = 1) const {
        std::string all;
        for (int i = 0; i < count; ++i) all += service.get(path);
        EXPECT_TRUE(client.send(all));
    }
    // The next response is a 200. `pause`: before each piece.
    static bool reads_200(socket_client& client, std::size_t piece_bytes = 64 * kib,
                          std::chrono::milliseconds pause = 0ms) {
        return client.receive(piece_bytes, pause).starts_with("HTTP/1.1 200 OK\r\n");
    }
    bool is_served(socket_client& client, std::string_view path) const {
        request(client, path);
        return reads_200(client);
    }
    std::uint64_t held() const { return service.metrics().held_bytes.read(); }
    // Sends requests until the worker has to keep a response; returns how many.
    int request_until_kept(socket_client const& client) {
        for (int count = 1; count < 1000; ++count) {
            auto const baseline = service.metrics().bytes_out.read();
            request(client, one_post);
            while (service.metrics().bytes_out.read() == baseline) std::this_thread::sleep_for(1ms);
            bool occupied = true;
            for (int i = 0; occupied && i < 20; ++i) {
                std::this_thread::sleep_for(5ms);
                occupied = held() != 0;
            }
            if (occupied) return count;
        }
        return 0;
    }
    std::uint64_t refused() const {
        return service.metrics()
            .problems[static_cast<std::size_t>(base::problem::overloaded)]
            .read();
    }
};

TEST_F(slow_readers, above_their_share_are_reset_and_no_others_are) {
    auto modest = connect(), reads = connect(), greedy = connect();
    ASSERT_TRUE(is_served(reads, "/users/1"));
    // It does not read either, but what is kept for it is less than its share.
    int unread = request_until_kept(modest);
    ASSERT_GT(unread, 0);
    ASSERT_LT(held(), 4 * post_bytes);
    std::this_thread::sleep_for(unread_for + 200ms);

    auto const start = clock::now();
    request(greedy, all_posts, 100);
    std::size_t served = 0;
    std::uint64_t peak = 0;
    while (!greedy.hung_up() && clock::now() < start + patience) {
        ASSERT_TRUE(is_served(reads, "/users/1")) << "after " << served;
        ++served;
        peak = std::max(peak, held());
    }
    EXPECT_TRUE(greedy.hung_up());
    EXPECT_GE(clock::now() - start, unread_for);
    EXPECT_TRUE(greedy.ends_with_reset());
    EXPECT_GT(peak, half_of_budget);
    EXPECT_GT(served, 10u);
    EXPECT_TRUE(is_served(reads, "/users/1"));
    EXPECT_LT(held(), half_of_budget);

    EXPECT_FALSE(modest.hung_up());
    for (; unread > 0; --unread) ASSERT_TRUE(reads_200(modest)) << unread;
    EXPECT_TRUE(is_served(modest, all_posts));
    EXPECT_EQ(refused(), 0u);
}

TEST_F(slow_readers, are_kept_while_less_than_half_of_the_budget_is_used) {
    auto greedy = connect(), reads = connect();
    request(greedy, some_posts);
    for (auto const start = clock::now(); clock::now() < start + unread_for + 500ms;
         std::this_thread::sleep_for(5ms))
        ASSERT_TRUE(is_served(reads, "/users/1"));
    EXPECT_GT(held(), half_of_budget * 3 / 4) << "more than its share";
    EXPECT_FALSE(greedy.hung_up());
    EXPECT_TRUE(reads_200(greedy));
}

// One of these answers fits, and a second one would take what others need.
TEST_F(slow_readers, with_one_key_leave_room_to_others) {
    auto greedy = connect(), second = connect(), reads = connect();
    request(greedy, all_posts);
    while (held() <= half_of_budget) std::this_thread::sleep_for(1ms);
    request(second, all_posts);
    EXPECT_TRUE(second.receive().starts_with("HTTP/1.1 503 "));
    EXPECT_TRUE(is_served(second, "/users/1")) << "a small answer";
    EXPECT_TRUE(is_served(reads, "/users/1"));
    EXPECT_LT(held(), budget_mib * 1024 * kib);
}

TEST_F(slow_readers, that_make_progress_are_kept) {
    auto slow = connect(), reads = connect();
    request(slow, all_posts);
    auto past_half = 0ms;
    std::atomic<bool> finished{false};
    std::thread other([&] {
        for (; !finished; std::this_thread::sleep_for(10ms)) {
            EXPECT_TRUE(is_served(reads, "/users/1"));
            if (held() > half_of_budget) past_half += 10ms;
        }
    });
    EXPECT_TRUE(reads_200(slow, 16 * kib, 80ms));
    finished = true;
    other.join();
    EXPECT_GT(past_half, unread_for) << "it could have been reset";
    EXPECT_TRUE(is_served(slow, all_posts));
}

TEST_F(slow_readers, that_make_progress_get_several_mib) {
    constexpr int pages = 5;
    running_worker large{{.overload_queued_mib = 4}, 60, 18 * kib};
    socket_client slow(large.address(), {.receive_bytes = 64 * kib}), reads(large.address());
    std::string requests;
    for (int i = 0; i < pages; ++i) requests += large.get("/posts?limit=100");
    ASSERT_TRUE(slow.send(requests));
    for (int i = 0; i < pages; ++i) {
        auto const page = slow.receive(32 * kib, 5ms);
        EXPECT_EQ(socket_client::status_of(page), 200) << i;
        EXPECT_GT(page.size(), 1000 * kib) << i;
        EXPECT_EQ(reads.status(large.get("/users/1")), 200) << i;
    }
}

// A record of TLS that begins a message, which never ends, and another record but for its last byte.
// No client of it has a key, and all come from one address.
TEST(half_handshakes, end_once_the_budget_is_exceeded) {
    constexpr std::size_t mib = base::limits::mib, count = 200;
    std::string input("\x16\x03\x01\x3f\xf0\x01\0\x3f\xfd", 9);
    input.resize(5 + 0x3ff0);
    input += std::string("\x16\x03\x01\x40\0", 5) + std::string(0x3fff, '\0');
    running_worker service{
        {.http_handshake_seconds = 60, .overload_queued_mib = 64}, 0, 0, {}, true};
    auto const read_held = [&] { return service.metrics().held_bytes.read(); };
    std::vector<socket_client> all;
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(all.emplace_back(service.address()).send(input));
    for (auto const start = clock::now(); read_held() < count * input.size();
         std::this_thread::sleep_for(1ms))
        ASSERT_LT(clock::now() - start, patience) << read_held();

    service.use({.http_handshake_seconds = 60, .overload_queued_mib = 2});
    for (auto const start = clock::now(); read_held() > 2 * mib; std::this_thread::sleep_for(1ms))
        ASSERT_LT(clock::now() - start, patience) << read_held();
    // Their bytes count no more before their clients see that they have ended.
    auto const count_ended = [&] {
        return std::ranges::count_if(all, [](auto& each) { return each.hung_up(); });
    };
    for (auto const start = clock::now(); count_ended() <= 100; std::this_thread::sleep_for(1ms))
        ASSERT_LT(clock::now() - start, patience) << count_ended();
}

// From each connection comes a part that is never completed, together more than the budget. The
// worker keeps none that there is no memory for, so that it never holds a quarter more.
struct half_records : testing::Test {
    static constexpr std::size_t mib = base::limits::mib, count = 250;

    running_worker service{
        {.http_handshake_seconds = 60, .overload_queued_mib = 2}, 0, 0, {}, true};
    std::vector<socket_client> all;

    void connect() {
        for (std::size_t i = 0; i < count; ++i) all.emplace_back(service.address());
    }
    void expect_bound(std::string part) {
        part.resize(16 * kib);
        for (auto const& each : all) (void)each.send(part);  // some are reset meanwhile
        auto const count_ended = [&] {
            return std::ranges::count_if(all, [](auto& each) { return each.hung_up(); });
        };
        for (auto const start = clock::now(); count_ended() < 100; std::this_thread::sleep_for(1ms))
            ASSERT_LT(clock::now() - start, patience) << count_ended();
        EXPECT_LE(service.metrics().held_bytes_most.read(), 2 * mib + mib / 2);
    }
};

TEST_F(half_records, of_handshakes_end_when_there_is_no_memory_for_them) {
    connect();
    expect_bound({"\x16\x03\x01\x40\0\x01\0\x3f\xf0", 9});
}

TEST_F(half_records, with_content_end_when_there_is_no_memory_for_them) {
    connect();
    bssl::UniquePtr<SSL_CTX> const context(SSL_CTX_new(TLS_method()));
    for (auto const& each : all) {
        bssl::UniquePtr<SSL> const session(SSL_new(context.get()));
        SSL_set_fd(session.get(), each.fd());
        ASSERT_EQ(SSL_connect(session.get()), 1);
    }
    expect_bound({"\x17\x03\x03\x41\0", 5});
}

// Bodies that stop in the middle: no client has to take anything, so that none is slow.
struct half_bodies : testing::Test {
    static constexpr std::size_t mib = base::limits::mib;
    static constexpr std::size_t body_bytes = 1000 * kib, part_bytes = 300 * kib;

    running_worker service{{.overload_queued_mib = 64}, 60, 18 * kib};

    socket_client send_part(std::size_t key, std::size_t bytes, std::string_view part) const {
        socket_client client(service.address());
        auto head = service.get("/posts", key).replace(0, 3, "POST");
        head.insert(head.size() - 2, "Content-Type: application/json\r\nContent-Length: " +
                                         std::to_string(bytes) + "\r\n");
        EXPECT_TRUE(client.send(head.append(part)));
        return client;
    }
    // Returns once the worker has that part of the body.
    socket_client begin_body(std::size_t key, std::size_t bytes, std::string_view part) const {
        auto const held_before = held();
        auto client = send_part(key, bytes, part);
        while (held() < held_before + part.size()) std::this_thread::sleep_for(1ms);
        return client;
    }
    std::uint64_t held() const { return service.metrics().held_bytes.read(); }
};

TEST_F(half_bodies, of_who_holds_most_end_once_the_budget_is_exceeded) {
    std::string_view const post = R"({"user_id":1,"title":"a","body":"b"})";
    std::string const most_of_one(body_bytes - 100 * kib, ' '), part(part_bytes, ' ');
    auto modest = begin_body(0, post.size(), post.substr(0, 9));
    auto one = begin_body(1, body_bytes, most_of_one);
    std::vector<socket_client> many;
    while (held() <= 8 * mib + mib / 4) many.push_back(begin_body(2, body_bytes, part));

    service.use({.overload_queued_mib = 8});
    socket_client reads(service.address());
    auto const start = clock::now();
    do {
        ASSERT_EQ(reads.status(service.get("/users/1")), 200);
    } while (held() > 8 * mib && clock::now() < start + patience);
    EXPECT_LE(held(), 8 * mib);
    // The bytes stop counting when the connection begins to close, and its client learns it later.
    auto const is_reset = [](auto& each) { return each.hung_up() && each.ends_with_reset(); };
    while (std::ranges::none_of(many, is_reset))
        ASSERT_LT(clock::now(), start + patience) << "none was reset";
    EXPECT_GT(held(), 6 * mib) << "no more of them than had to: three quarters stay";
    EXPECT_FALSE(one.hung_up()) << "the largest body, of one who holds less in all";

    service.use({.overload_queued_mib = 64});
    EXPECT_EQ(one.status(std::string(body_bytes - most_of_one.size(), ' ')), 400);
    EXPECT_EQ(modest.status(post.substr(9)), 201);
    EXPECT_EQ(reads.status(service.get("/users/1")), 200);
}

TEST_F(half_bodies, of_one_key_leave_room_for_large_answers_to_another) {
    service.use({.overload_queued_mib = 8});
    std::string const part(900 * kib, ' ');
    std::vector<socket_client> many;
    for (int i = 0; i < 20; ++i) many.push_back(send_part(1, body_bytes, part));
    auto const& refusals =
        service.metrics().problems[static_cast<std::size_t>(base::problem::overloaded)];
    while (refusals.read() < 10) std::this_thread::sleep_for(1ms);
    EXPECT_GT(held(), 3 * mib);
    socket_client reads(service.address());
    ASSERT_TRUE(reads.send(service.get("/posts?limit=60")));
    auto const page = reads.receive();
    EXPECT_EQ(socket_client::status_of(page), 200);
    EXPECT_GT(page.size(), 1000 * kib);
}

// Posts that wait for the store, all of one key, with the beginning of another request behind each.
// A connection that was reset keeps its command until the outcome, and is smaller than the others.
TEST(waiting_commits, of_reset_connections_are_no_reason_to_end_others) {
    constexpr std::size_t count = 14, body_bytes = 60 * kib;
    running_worker service{{.overload_queued_mib = budget_mib}};
    base::descriptor const folder(
        ::open(service.access_log().parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(folder.get(), LOCK_EX), 0);  // as a command that writes

    std::string const body =
        R"({"user_id":1,"title":"t","body":")" + std::string(body_bytes, 'b') + "\"}";
    auto request = service.get("/posts").replace(0, 3, "POST");
    request.insert(request.size() - 2, "Content-Type: application/json\r\nContent-Length: " +
                                           std::to_string(body.size()) + "\r\n");
    request += body + "GET /users HTTP/1.1\r\nX-Text: " + std::string(12'000, 'x');
    std::vector<socket_client> all;
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(all.emplace_back(service.address()).send(request));
    auto const count_ended = [&] {
        return static_cast<std::size_t>(
            std::ranges::count_if(all, [](auto& each) { return each.hung_up(); }));
    };
    for (auto const start = clock::now(); count_ended() == 0; std::this_thread::sleep_for(1ms))
        ASSERT_LT(clock::now() - start, patience);
    // The worker looks at its connections every 100 ms.
    std::this_thread::sleep_for(5 * std::chrono::nanoseconds(holder_watch::look_every));
    EXPECT_LE(count_ended(), count / 2 + 1) << "three quarters of the budget are the key's";
    ::flock(folder.get(), LOCK_UN);
    EXPECT_EQ(socket_client(service.address()).status(service.get("/users/1")), 200);
}

}  // namespace
}  // namespace latchkey::server
