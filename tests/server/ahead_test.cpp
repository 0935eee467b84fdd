// What requests are going to read is fetched before their turn, but only for clients whose key is
// known, and only where it is not at hand already.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "running_worker.hpp"

namespace latchkey::server {
namespace {

class caller {
  public:
    explicit caller(listen_address const& where) : fd_(connected_to(where)) {
        int const at_once = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    }
    ~caller() { ::close(fd_); }
    caller(caller const&) = delete;
    caller& operator=(caller const&) = delete;

    void send(std::string_view bytes) const {
        EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    // The next answer; its content is told from its head by the empty line.
    std::string receive() {
        for (;;) {
            auto const end = came_.find("\r\n\r\n");
            if (end != came_.npos) {
                auto const length = came_.find("Content-Length: ");
                auto const size = end + 4 + std::stoul(came_.substr(length + 16));
                if (came_.size() >= size) {
                    auto answer = came_.substr(0, size);
                    came_.erase(0, size);
                    return answer;
                }
            }
            char part[16 * 1024];
            auto const got = ::recv(fd_, part, sizeof part, 0);
            if (got <= 0) return {};
            came_.append(part, static_cast<std::size_t>(got));
        }
    }
    std::string ask(std::string_view request) {
        send(request);
        return receive();
    }

  private:
    int fd_;
    std::string came_;
};

std::string post(int id) {
    return "/posts/" + std::to_string(id);
}
bool shows(std::string const& answer, int id) {
    return answer.starts_with("HTTP/1.1 200 ") &&
           answer.find("\r\n\r\n{\"id\":" + std::to_string(id) + ",") != answer.npos;
}

TEST(look_ahead, is_for_known_clients_that_read_what_is_not_at_hand) {
    running_worker service({}, 50, 20);
    auto const foreseen = [&] { return service.metrics().foreseen.read(); };
    caller known(service.where()), stranger(service.where());
    EXPECT_TRUE(shows(known.ask(service.get(post(1))), 1));  // nobody knows him yet
    EXPECT_EQ(foreseen(), 0u);
    EXPECT_TRUE(shows(known.ask(service.get(post(2))), 2));
    EXPECT_EQ(foreseen(), 1u);

    auto wrong = service.get(post(3));
    wrong.replace(wrong.find(service.key()), 8, "XXXXXXXX");
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(stranger.ask(wrong).starts_with("HTTP/1.1 401 "));
    EXPECT_EQ(foreseen(), 1u);
    EXPECT_TRUE(shows(stranger.ask(service.get(post(4))), 4));
    EXPECT_EQ(foreseen(), 1u);
    EXPECT_TRUE(shows(stranger.ask(service.get(post(5))), 5));
    EXPECT_EQ(foreseen(), 2u);
    // What comes behind an answer without a key in it is nobody's.
    EXPECT_TRUE(stranger.ask(wrong).starts_with("HTTP/1.1 401 "));
    EXPECT_EQ(foreseen(), 3u);
    EXPECT_TRUE(stranger.ask(service.get(post(6))).starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(foreseen(), 3u);

    // The same again is at hand, and whoever asks for that is not looked at ahead.
    EXPECT_TRUE(shows(known.ask(service.get(post(6))), 6));
    auto const before = foreseen();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(shows(known.ask(service.get(post(6))), 6));
    EXPECT_EQ(foreseen(), before);
}

// A proxy's connection carries others' requests too.
TEST(look_ahead, is_not_for_what_comes_through_a_proxy) {
    running_worker service({.trusted_proxies = {"127.0.0.1"}}, 50, 20);
    caller proxy(service.where());
    for (int id = 1; id < 5; ++id) {
        auto request = service.get(post(id));
        request.insert(request.size() - 2,
                       "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n");
        EXPECT_TRUE(shows(proxy.ask(request), id));
    }
    EXPECT_EQ(service.metrics().foreseen.read(), 0u);
}

std::string make_user(std::string const& key, int number) {
    auto const body = R"({"name":"A","email":"a)" + std::to_string(number) + R"(@example.com"})";
    return "POST /api/v1/users HTTP/1.1\r\nHost: a\r\nContent-Type: "
           "application/json\r\nX-API-Key: " +
           key + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// However requests come together, each is answered with what it asked for. A commit in between
// makes them look for their records anew.
TEST(look_ahead, changes_no_answer) {
    running_worker service({}, 50, 20);
    caller writes(service.where());
    std::vector<std::unique_ptr<caller>> all;
    for (int i = 0; i < 32; ++i) all.push_back(std::make_unique<caller>(service.where()));
    unsigned wanted = 1;
    auto const next = [&] {
        return static_cast<int>((wanted = wanted * 48'271u % 2'147'483'647u) % 50) + 1;
    };
    for (int round = 0; round < 60; ++round) {
        std::vector<std::vector<int>> ids(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::string bytes;
            for (int n = 0; n <= round % 3; ++n)
                bytes += service.get(post(ids[i].emplace_back(next())));
            // Some in two pieces, which may be seen each for itself.
            auto const cut = (i + static_cast<std::size_t>(round)) % 4 == 0 ? bytes.size() / 3 : 0;
            if (cut != 0) all[i]->send(std::string_view(bytes).substr(0, cut));
            all[i]->send(std::string_view(bytes).substr(cut));
        }
        EXPECT_TRUE(writes.ask(make_user(service.key(), round)).starts_with("HTTP/1.1 201 "));
        for (std::size_t i = 0; i < all.size(); ++i)
            for (int const id : ids[i]) {
                auto const answer = all[i]->receive();
                ASSERT_TRUE(shows(answer, id)) << id << '\n' << answer;
            }
    }
    EXPECT_GT(service.metrics().foreseen.read(), 100u);
}

}  // namespace
}  // namespace latchkey::server
