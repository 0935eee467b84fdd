#include "server/management.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace latchkey::server {
namespace {

constexpr base::mono_ns second = 1'000'000'000;

// A management listener that is run when a test says so, at the time that it says.
struct listening_here {
    int asked = 0;
    std::size_t page_bytes = 3;
    base::instant now{1'000 * second, 1'000'000};
    std::unique_ptr<management> callers =
        management::open(parse_listen_address("http://127.0.0.1:0").value(),
                         [this](http::request const& request, http::response& answer) {
                             ++asked;
                             answer.content_type = http::content::text;
                             answer.body.assign(page_bytes, 'x');
                             answer.add("X-Path", request.path);
                         })
            .value();

    void run() {
        for (int i = 0; i < 20; ++i) {
            pollfd ready{callers->fd(), POLLIN, 0};
            if (::poll(&ready, 1, 20) == 0) break;
            callers->run(now);
        }
    }
    void later(int seconds) {
        now.mono += seconds * second;
        callers->run(now);
    }
};

struct caller {
    int fd;
    explicit caller(listening_here& at) : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_storage address;
        auto const size = to_sockaddr(at.callers->where(), address);
        EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    }
    ~caller() { ::close(fd); }
    void say(std::string_view text) const {
        EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    // What has come; "<end>" behind it when the other side has ended.
    std::string hear() const {
        std::string all;
        char bytes[65536];
        for (;;) {
            auto const got = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
            if (got == 0) return all + "<end>";
            if (got < 0) return all;
            all.append(bytes, static_cast<std::size_t>(got));
        }
    }
};

constexpr std::string_view get = "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n";

TEST(management, answers_over_a_connection_that_is_kept) {
    listening_here at;
    caller one(at);
    for (int i = 1; i <= 3; ++i) {
        one.say(get);
        at.run();
        auto const answer = one.hear();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
        EXPECT_NE(answer.find("X-Path: /livez\r\n"), std::string::npos);
        EXPECT_TRUE(answer.ends_with("\r\n\r\nxxx")) << answer;
        EXPECT_EQ(at.asked, i);
    }
    one.say(std::string(get) + std::string(get) +
            "HEAD /livez HTTP/1.1\r\nHost: x\r\n"
            "Connection: close\r\n\r\n");
    at.run();
    auto const answers = one.hear();
    EXPECT_EQ(at.asked, 6);
    EXPECT_NE(answers.find("Connection: close\r\n"), std::string::npos);
    EXPECT_TRUE(answers.ends_with("\r\n\r\n<end>")) << "HEAD has no content";
}

TEST(management, takes_a_head_in_pieces_and_not_for_ever) {
    listening_here at;
    caller slow(at);
    for (char const byte : get.substr(0, 20)) {
        slow.say({&byte, 1});
        at.run();
    }
    EXPECT_EQ(slow.hear(), "");
    at.later(9);
    EXPECT_EQ(slow.hear(), "");
    EXPECT_LE(at.callers->next(), at.now.mono + second);
    at.later(2);
    EXPECT_EQ(slow.hear(), "<end>");
    EXPECT_EQ(at.callers->next(), 0);
}

TEST(management, refuses_what_is_no_request_for_it) {
    listening_here at;
    for (auto const& [request, status] :
         {std::pair{"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "405"},
          {"GET /livez HTTP/1.1\r\n\r\n", "400"},
          {"GET /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1"
           "\r\n\r\n",
           "400"},
          {"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "413"},
          {"FETCH /livez HTTP/1.1\r\nHost: x\r\n\r\n", "501"}}) {
        caller one(at);
        one.say(request);
        at.run();
        EXPECT_EQ(one.hear().substr(9, 3), status) << request;
    }
    EXPECT_EQ(at.asked, 0);
}

TEST(management, is_not_blocked_by_a_client_that_does_not_read) {
    listening_here at;
    at.page_bytes = 16 << 20;
    caller deaf(at), other(at);
    deaf.say(get);
    at.run();
    other.say(get);
    at.run();
    EXPECT_EQ(at.asked, 2);
    at.later(11);
    EXPECT_EQ(at.callers->next(), 0) << "both are gone";
}

TEST(management, sends_a_long_page_as_it_is_taken) {
    listening_here at;
    at.page_bytes = 16 << 20;
    caller one(at);
    one.say(std::string(get) + std::string(get));
    std::size_t bytes = 0;
    for (int i = 0; i < 10'000 && bytes <= 2 * at.page_bytes; ++i) {
        at.callers->run(at.now);
        bytes += one.hear().size();
    }
    EXPECT_GT(bytes, 2 * at.page_bytes);
    EXPECT_EQ(at.asked, 2);
}

TEST(management, gives_the_place_of_the_quietest_to_who_comes) {
    listening_here at;
    std::vector<std::unique_ptr<caller>> idle;
    for (int i = 0; i < 40; ++i) {
        idle.push_back(std::make_unique<caller>(at));
        at.run();
    }
    EXPECT_EQ(idle[0]->hear(), "<end>");
    idle.back()->say(get);
    at.run();
    EXPECT_TRUE(idle.back()->hear().starts_with("HTTP/1.1 200"));
}

}  // namespace
}  // namespace latchkey::server
