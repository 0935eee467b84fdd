// The records that requests are going to read are prefetched before the requests are run, but only
// for clients whose last request was admitted, and only where records must be searched for.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../running_worker.hpp"
#include "../socket_client.hpp"

namespace latchkey::server {
namespace {

std::string post(int id) {
    return "/posts/" + std::to_string(id);
}
bool shows(std::string const& answer, int id) {
    return answer.starts_with("HTTP/1.1 200 ") &&
           answer.find("\r\n\r\n{\"id\":" + std::to_string(id) + ",") != answer.npos;
}

TEST(read_ahead, is_for_known_clients_that_read_what_is_not_at_hand) {
    running_worker service({}, 50, 20);
    auto const prefetch_hints = [&] { return service.metrics().prefetch_hints.read(); };
    socket_client known(service.address()), stranger(service.address());
    EXPECT_TRUE(shows(known.ask(service.get(post(1))), 1));  // not known before its response
    EXPECT_EQ(prefetch_hints(), 0u);
    EXPECT_TRUE(shows(known.ask(service.get(post(2))), 2));
    EXPECT_EQ(prefetch_hints(), 1u);

    auto wrong = service.get(post(3));
    wrong.replace(wrong.find(service.key()), 8, "XXXXXXXX");
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(stranger.ask(wrong).starts_with("HTTP/1.1 401 "));
    EXPECT_EQ(prefetch_hints(), 1u);
    EXPECT_TRUE(shows(stranger.ask(service.get(post(4))), 4));
    EXPECT_EQ(prefetch_hints(), 1u);
    EXPECT_TRUE(shows(stranger.ask(service.get(post(5))), 5));
    EXPECT_EQ(prefetch_hints(), 2u);
    // The request behind one that was refused is not looked into.
    EXPECT_TRUE(stranger.ask(wrong).starts_with("HTTP/1.1 401 "));
    EXPECT_EQ(prefetch_hints(), 3u);
    EXPECT_TRUE(stranger.ask(service.get(post(6))).starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(prefetch_hints(), 3u);

    // The same record again is at hand: read-ahead pauses.
    EXPECT_TRUE(shows(known.ask(service.get(post(6))), 6));
    auto const baseline = prefetch_hints();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(shows(known.ask(service.get(post(6))), 6));
    EXPECT_EQ(prefetch_hints(), baseline);
}

TEST(read_ahead, pauses_after_a_request_that_searched_for_nothing) {
    running_worker service({}, 50, 20);
    auto const prefetch_hints = [&] { return service.metrics().prefetch_hints.read(); };
    socket_client client(service.address());
    for (int const id : {1, 2}) EXPECT_TRUE(shows(client.ask(service.get(post(id))), id));
    auto const baseline = prefetch_hints();
    EXPECT_TRUE(shows(client.ask(service.get(post(2))), 2));
    EXPECT_EQ(prefetch_hints(), baseline) << "a record whose place is known needs no search";
    EXPECT_TRUE(shows(client.ask(service.get(post(3))), 3));
    EXPECT_EQ(prefetch_hints(), baseline) << "it was paused";
    EXPECT_TRUE(shows(client.ask(service.get(post(4))), 4));
    EXPECT_EQ(prefetch_hints(), baseline + 1);
}

// Its key is good, but a client that asks for what does not exist must not choose the pages to read.
TEST(read_ahead, is_not_for_the_request_behind_an_error) {
    running_worker service({}, 50, 20);
    auto const prefetch_hints = [&] { return service.metrics().prefetch_hints.read(); };
    socket_client client(service.address());
    for (int const id : {1, 2}) EXPECT_TRUE(shows(client.ask(service.get(post(id))), id));
    EXPECT_TRUE(client.ask(service.get("/posts/999")).starts_with("HTTP/1.1 404 "));
    auto const baseline = prefetch_hints();
    EXPECT_TRUE(shows(client.ask(service.get(post(3))), 3));
    EXPECT_EQ(prefetch_hints(), baseline);
    EXPECT_TRUE(shows(client.ask(service.get(post(4))), 4));
    EXPECT_EQ(prefetch_hints(), baseline + 1);
}

TEST(read_ahead, can_be_switched_off) {
    running_worker service({}, 50, 20, {.read_ahead = false});
    socket_client client(service.address());
    for (int id = 1; id < 10; ++id) EXPECT_TRUE(shows(client.ask(service.get(post(id))), id));
    EXPECT_EQ(service.metrics().prefetch_hints.read(), 0u);
}

// A proxy's connection carries others' requests too.
TEST(read_ahead, is_not_for_what_comes_through_a_proxy) {
    running_worker service({.trusted_proxies = {"127.0.0.1"}}, 50, 20);
    socket_client proxy(service.address());
    for (int id = 1; id < 5; ++id) {
        auto request = service.get(post(id));
        request.insert(request.size() - 2,
                       "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n");
        EXPECT_TRUE(shows(proxy.ask(request), id));
    }
    EXPECT_EQ(service.metrics().prefetch_hints.read(), 0u);
}

std::string make_user(std::string const& key, int number) {
    auto const body = R"({"name":"A","email":"a)" + std::to_string(number) + R"(@example.com"})";
    return "POST /api/v1/users HTTP/1.1\r\nHost: a\r\nContent-Type: "
           "application/json\r\nX-API-Key: " +
           key + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// However requests arrive together, each gets its own response. A commit in between invalidates the
// remembered places of records.
TEST(read_ahead, changes_no_answer) {
    running_worker service({}, 50, 20);
    socket_client writes(service.address());
    std::vector<std::unique_ptr<socket_client>> all;
    for (int i = 0; i < 32; ++i) all.push_back(std::make_unique<socket_client>(service.address()));
    unsigned random_state = 1;
    auto const next_id = [&] {
        return static_cast<int>((random_state = random_state * 48'271u % 2'147'483'647u) % 50) + 1;
    };
    for (int round = 0; round < 60; ++round) {
        std::vector<std::vector<int>> ids(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::string bytes;
            for (int n = 0; n <= round % 3; ++n)
                bytes += service.get(post(ids[i].emplace_back(next_id())));
            // Some in two pieces, which may arrive separately.
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
    EXPECT_GT(service.metrics().prefetch_hints.read(), 100u);
}

}  // namespace
}  // namespace latchkey::server
