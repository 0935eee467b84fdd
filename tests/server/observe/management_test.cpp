#include "server/observe/management.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "../socket_client.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns second = 1'000'000'000;

// A management listener that runs when the test says so, at the test's time.
struct management_fixture {
    int request_count = 0;
    std::size_t page_bytes = 3;
    base::instant now{1'000 * second, 1'000'000};
    std::unique_ptr<management> listener =
        management::open(parse_listen_address("http://127.0.0.1:0").value(),
                         [this](http::request const& request, http::response& answer) {
                             ++request_count;
                             answer.content_type = http::content::text;
                             answer.body.assign(page_bytes, 'x');
                             answer.add("X-Path", request.path);
                         })
            .value();

    void run() {
        for (int i = 0; i < 20; ++i) {
            pollfd ready{listener->fd(), POLLIN, 0};
            if (::poll(&ready, 1, 20) == 0) break;
            listener->run(now);
        }
    }
    void advance(int seconds) {
        now.mono += seconds * second;
        listener->run(now);
    }
};

// Does not wait: the listener runs on this thread.
struct test_client : socket_client {
    explicit test_client(management_fixture& fixture)
        : socket_client(fixture.listener->address()) {}
    void send_text(std::string_view text) const { EXPECT_TRUE(send(text)); }
    // Everything received; "<end>" after it when the peer has closed.
    std::string receive() const {
        std::string all;
        char bytes[65536];
        for (;;) {
            auto const size = ::recv(fd(), bytes, sizeof bytes, MSG_DONTWAIT);
            if (size == 0) return all + "<end>";
            if (size < 0) return all;
            all.append(bytes, static_cast<std::size_t>(size));
        }
    }
};

constexpr std::string_view get = "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n";

TEST(management, answers_over_a_persistent_connection) {
    management_fixture fixture;
    test_client one(fixture);
    for (int i = 1; i <= 3; ++i) {
        one.send_text(get);
        fixture.run();
        auto const answer = one.receive();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
        EXPECT_NE(answer.find("X-Path: /livez\r\n"), std::string::npos);
        EXPECT_NE(answer.find("Cache-Control: no-store\r\n"), std::string::npos);
        EXPECT_TRUE(answer.ends_with("\r\n\r\nxxx")) << answer;
        EXPECT_EQ(fixture.request_count, i);
    }
    one.send_text(std::string(get) + std::string(get) +
                  "HEAD /livez HTTP/1.1\r\nHost: x\r\n"
                  "Connection: close\r\n\r\n");
    fixture.run();
    auto const answers = one.receive();
    EXPECT_EQ(fixture.request_count, 6);
    EXPECT_NE(answers.find("Connection: close\r\n"), std::string::npos);
    EXPECT_TRUE(answers.ends_with("\r\n\r\n<end>")) << "HEAD has no content";
}

TEST(management, reads_a_header_section_in_pieces_until_its_deadline) {
    management_fixture fixture;
    test_client slow(fixture);
    for (char const byte : get.substr(0, 20)) {
        slow.send_text({&byte, 1});
        fixture.run();
    }
    EXPECT_EQ(slow.receive(), "");
    fixture.advance(9);
    EXPECT_EQ(slow.receive(), "");
    EXPECT_LE(fixture.listener->next(), fixture.now.mono + second);
    fixture.advance(2);
    EXPECT_EQ(slow.receive(), "<end>");
    EXPECT_EQ(fixture.listener->next(), 0);
}

TEST(management, refuses_other_methods_and_malformed_requests) {
    management_fixture fixture;
    for (auto const& [request, status] :
         {std::pair{"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "405"},
          {"GET /livez HTTP/1.1\r\n\r\n", "400"},
          {"GET /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1"
           "\r\n\r\n",
           "400"},
          {"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "413"},
          {"FETCH /livez HTTP/1.1\r\nHost: x\r\n\r\n", "405"}}) {
        test_client one(fixture);
        one.send_text(request);
        fixture.run();
        EXPECT_EQ(one.receive().substr(9, 3), status) << request;
    }
    EXPECT_EQ(fixture.request_count, 0);
}

// Content is not read, so what follows the head is no further request.
TEST(management, ends_a_connection_with_a_request_that_has_content) {
    management_fixture fixture;
    test_client one(fixture);
    one.send_text("GET /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
                  std::string(get));
    fixture.run();
    auto const answer = one.receive();
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;
    EXPECT_LE(fixture.request_count, 1);
}

TEST(management, is_not_blocked_by_a_client_that_does_not_read) {
    management_fixture fixture;
    fixture.page_bytes = 16 << 20;
    test_client deaf(fixture), other(fixture);
    deaf.send_text(get);
    fixture.run();
    other.send_text(get);
    fixture.run();
    EXPECT_EQ(fixture.request_count, 2);
    fixture.advance(11);
    EXPECT_EQ(fixture.listener->next(), 0) << "both are gone";
}

TEST(management, sends_a_long_page_as_the_client_reads) {
    management_fixture fixture;
    fixture.page_bytes = 16 << 20;
    test_client one(fixture);
    one.send_text(std::string(get) + std::string(get));
    std::size_t bytes = 0;
    for (int i = 0; i < 10'000 && bytes <= 2 * fixture.page_bytes; ++i) {
        fixture.listener->run(fixture.now);
        bytes += one.receive().size();
    }
    EXPECT_GT(bytes, 2 * fixture.page_bytes);
    EXPECT_EQ(fixture.request_count, 2);
}

TEST(management, replaces_the_longest_idle_client_by_a_new_one) {
    management_fixture fixture;
    std::vector<std::unique_ptr<test_client>> idle;
    for (int i = 0; i < 40; ++i) {
        idle.push_back(std::make_unique<test_client>(fixture));
        fixture.run();
    }
    EXPECT_EQ(idle[0]->receive(), "<end>");
    idle.back()->send_text(get);
    fixture.run();
    EXPECT_TRUE(idle.back()->receive().starts_with("HTTP/1.1 200"));
}

}  // namespace
}  // namespace latchkey::server
