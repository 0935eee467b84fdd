// Requests that wait for tokens of their key, in a cluster: before the body, behind it, and where a
// handler charges another key; over both protocols.
#include <gtest/gtest.h>

#include "cluster/quota_purse.hpp"
#include "http2_conversation.hpp"
#include "nghttp2_client.hpp"
#include "tests/cluster/token_engine.hpp"

namespace latchkey::session {
namespace {

using api::bearer;
using api::request_text;

constexpr base::mono_ns second = 1'000'000'000;
std::string const user = R"({"name":"Ada","email":"ada@example.com"})";

class token_wait_test : public api::api_test {
  protected:
    token_wait_test() {
        service.services().quota = &purse_;
        service.services().is_node = true;
        service.services().boot = service.now.mono;
        engine.answer(service.services().boot);
    }
    // A key of which this node has no tokens.
    std::string fresh_key(std::uint32_t limit = 600) {
        return service.add_key({"*"}, {.rate_limits = {{"minute", limit, 60, 0}}});
    }
    void answer() { engine.answer(service.services().boot); }
    void pass(base::mono_ns time) { service.services().boot += time; }
    // How often it waited.
    int finish(conversation& client) {
        int waits = 0;
        for (; client.waits() && waits < 9; ++waits) {
            answer();
            client.resume();
        }
        return waits;
    }
    int finish(http2_conversation& server, nghttp2_client& client) {
        int waits = 0;
        client.exchange();
        for (; server.token_waits() != 0 && waits < 9; ++waits) {
            answer();
            server.resume();
            client.exchange();
        }
        return waits;
    }
    std::string get(std::string const& key, std::string const& path = "/api/v1/users") const {
        return request_text("GET " + path, {bearer(key)});
    }
    std::string unique_user() {
        return R"({"name":"Ada","email":"a)" + std::to_string(++users_) + R"(@example.com"})";
    }
    fields head(std::string const& key, std::string method = "GET",
                std::string path = "/api/v1/users") const {
        return {{":method", std::move(method)},     {":scheme", "https"},
                {":authority", "latchkey.test"},    {":path", std::move(path)},
                {"authorization", "Bearer " + key}, {"content-type", "application/json"}};
    }

    cluster::token_engine engine;

  private:
    cluster::quota_purse purse_{engine.node()};
    int users_ = 0;
};

std::vector<std::string> statuses_of(std::string const& output) {
    std::vector<std::string> statuses;
    for (auto i = output.find("HTTP/1.1 "); i != output.npos; i = output.find("HTTP/1.1 ", i + 1))
        statuses.push_back(output.substr(i + 9, 3));
    return statuses;
}
using statuses = std::vector<std::string>;

TEST_F(token_wait_test, those_behind_are_answered_in_their_order) {
    auto const key = fresh_key();
    conversation client(service);
    client.receive(get(key) + get(key, "/api/v1/users/9") + get(service.key, "/api/v1/keys/9999"));
    EXPECT_TRUE(client.waits());
    EXPECT_EQ(client.output(), "");
    client.resume();
    EXPECT_TRUE(client.waits()) << "without an answer";
    EXPECT_GE(finish(client), 1);
    EXPECT_EQ(statuses_of(client.output()), (statuses{"200", "404", "404"}));
    EXPECT_NE(client.output().find(R"(RateLimit: "minute";r=)"), std::string::npos);
}

TEST_F(token_wait_test, the_body_may_arrive_before_or_after_the_wait) {
    for (bool const chunked : {false, true}) {
        auto const size = request_text("POST /api/v1/users", {bearer(service.key)}, user).size();
        for (std::size_t cut = 0; cut <= size; cut += cut < size - 50 ? 31 : 1) {
            auto const key = fresh_key();
            auto const text =
                chunked ? api::in_chunks("POST /api/v1/users", {bearer(key)}, unique_user())
                        : request_text("POST /api/v1/users", {bearer(key)}, unique_user());
            conversation client(service);
            client.receive(text.substr(0, cut));
            bool const early = client.waits();
            finish(client);
            client.receive(text.substr(std::min(cut, text.size())));
            EXPECT_EQ(early, finish(client) == 0);
            EXPECT_EQ(statuses_of(client.output()), statuses{"201"}) << chunked << " " << cut;
            client.receive(get(key));
            finish(client);
            EXPECT_EQ(statuses_of(client.output()), (statuses{"201", "200"})) << cut;
        }
    }
}

TEST_F(token_wait_test, a_request_with_its_key_in_the_body_waits_behind_it) {
    auto const body = R"({"api_key":")" + fresh_key() + "\"," + user.substr(1);
    conversation client(service);
    client.receive(request_text("POST /api/v1/users", {}, body));
    EXPECT_TRUE(client.waits());
    EXPECT_EQ(finish(client), 1);
    EXPECT_EQ(statuses_of(client.output()), statuses{"201"});
}

TEST_F(token_wait_test, a_refusal_skips_the_body_that_came_meanwhile) {
    auto const key = service.add_key({"users:read"}, {.rate_limits = {{"minute", 600, 60, 0}}});
    conversation client(service);
    client.receive(request_text("POST /api/v1/users", {bearer(key)}, user) + get(service.key));
    EXPECT_EQ(finish(client), 1);
    EXPECT_EQ(statuses_of(client.output()), (statuses{"403", "200"}));
}

TEST_F(token_wait_test, used_up_limits_are_refused_after_the_wait) {
    auto const key = fresh_key(1);
    conversation client(service);
    client.receive(get(key));
    finish(client);
    client.receive(get(key));
    finish(client);
    EXPECT_EQ(statuses_of(client.output()), (statuses{"200", "429"}));
    EXPECT_NE(client.output().find("\r\nRetry-After: 6"), std::string::npos);
}

TEST_F(token_wait_test, a_verified_key_is_waited_for_too) {
    auto const key = fresh_key();
    conversation client(service);
    client.receive(request_text("POST /api/v1/keys/verify", {bearer(service.key)},
                                R"({"key":")" + key + R"(","cost":7})"));
    EXPECT_TRUE(client.waits());
    EXPECT_EQ(finish(client), 1);
    EXPECT_NE(client.output().find(R"("code":"VALID")"), std::string::npos);
    EXPECT_EQ(engine.node().count().granted, 7u);
}

TEST_F(token_wait_test, a_verified_key_is_waited_for_after_the_callers) {
    auto const caller = fresh_key(), key = fresh_key();
    conversation client(service);
    client.receive(
        request_text("POST /api/v1/keys/verify", {bearer(caller)}, R"({"key":")" + key + "\"}"));
    EXPECT_EQ(finish(client), 2);
    EXPECT_NE(client.output().find(R"("code":"VALID")"), std::string::npos);
}

TEST_F(token_wait_test, a_verified_key_that_goes_meanwhile_ends_the_wait) {
    auto const key = fresh_key();
    conversation client(service);
    client.receive(request_text("POST /api/v1/keys/verify", {bearer(service.key)},
                                R"({"key":")" + key + "\"}"));
    EXPECT_TRUE(client.waits());
    service.commit({.action = domain::deactivate_key{.id = service.last_key()}});
    client.resume();
    EXPECT_FALSE(client.waits());
    EXPECT_NE(client.output().find(R"("code":"DEACTIVATED")"), std::string::npos);
}

TEST_F(token_wait_test, without_tokens_and_share_it_is_behind) {
    auto const key = fresh_key(10);
    engine.is_away = true;
    conversation client(service);
    client.receive(get(key));
    EXPECT_TRUE(client.waits());
    pass(second);
    finish(client);
    EXPECT_EQ(statuses_of(client.output()), statuses{"503"});
    EXPECT_NE(client.output().find("\r\nRetry-After: 1\r\n"), std::string::npos);
    EXPECT_NE(client.output().find(R"("code":"behind")"), std::string::npos);
    EXPECT_EQ(client.output().find("\r\nRateLimit"), std::string::npos);
    client.receive(request_text("POST /api/v1/keys/verify", {bearer(service.key)},
                                R"({"key":")" + key + "\"}"));
    EXPECT_EQ(statuses_of(client.output()), (statuses{"503", "503"}));
}

TEST_F(token_wait_test, a_node_whose_lease_ends_meanwhile_refuses) {
    conversation client(service);
    client.receive(get(fresh_key()));
    service.services().lease_over = true;
    answer();
    client.resume();
    EXPECT_EQ(statuses_of(client.output()), statuses{"503"});
}

TEST_F(token_wait_test, a_position_is_waited_for_after_the_tokens) {
    for (auto const* const status : {"200", "503"}) {
        if (std::string_view(status) == "200") service.next_outcome.emplace();
        conversation client(service);
        client.receive(
            request_text("GET /api/v1/users", {bearer(fresh_key()), "Consistency-Token: 5"}));
        EXPECT_TRUE(client.waits());
        EXPECT_FALSE(client.committed());
        EXPECT_EQ(finish(client), 1);
        EXPECT_TRUE(client.committed());
        EXPECT_EQ(statuses_of(client.output()), statuses{status});
    }
}

TEST_F(token_wait_test, is_counted_from_the_first_try_to_the_decision) {
    context shared;
    configure(shared, service);
    http1 session(shared, service.peer);
    server_state server{.now = service.now, .ready_since = service.now.mono};
    auto input = get(fresh_key());
    std::string output;
    service.services().snapshot.renew();
    auto next = session.advance(input, wake_reason::bytes, server, output);
    ASSERT_EQ(next.kind, step_kind::await_tokens);
    EXPECT_EQ(next.consumed, input.size());
    server.now.mono += 5;
    session.resume(session.current());
    EXPECT_EQ(session.advance({}, wake_reason::bytes, server, output).kind,
              step_kind::await_tokens);
    server.now.mono += 6;
    answer();
    session.resume(session.current());
    EXPECT_EQ(session.advance({}, wake_reason::bytes, server, output).kind, step_kind::write);
    EXPECT_EQ(session.stream().exchange.token_wait_time(), 11);
}

// ---- HTTP/2

TEST_F(token_wait_test, a_stream_that_waits_holds_up_no_other) {
    http2_conversation server(service);
    nghttp2_client one(server);
    auto const slow = one.submit(head(fresh_key()));
    auto const get = one.submit(head(service.key));
    one.exchange();
    EXPECT_EQ(one.responses[get].status, 200u);
    EXPECT_EQ(one.responses.count(slow), 0u);
    EXPECT_EQ(server.token_waits(), 1u);
    EXPECT_EQ(finish(server, one), 1);
    EXPECT_EQ(one.responses[slow].status, 200u);
    EXPECT_EQ(server.in_progress(), 0u);
}

TEST_F(token_wait_test, content_that_arrives_meanwhile_is_kept) {
    for (auto const part : {std::size_t{1}, std::size_t{40}, std::size_t{1} << 14}) {
        http2_conversation server(service);
        nghttp2_client one(server);
        auto const creation = one.submit(head(fresh_key(), "POST"), unique_user());
        one.exchange(part);
        EXPECT_EQ(server.token_waits(), 1u);
        EXPECT_GT(server.held_bytes(), user.size());
        EXPECT_EQ(finish(server, one), 1);
        EXPECT_EQ(one.responses[creation].status, 201u);
        EXPECT_EQ(server.held_bytes(), 0u);
    }
}

TEST_F(token_wait_test, content_beyond_the_window_comes_after_the_wait) {
    http2_conversation server(service, {.window_bytes = 65'535});
    nghttp2_client one(server);
    auto const creation =
        one.submit(head(fresh_key(), "POST"), unique_user() + std::string(90'000, ' '));
    EXPECT_EQ(finish(server, one), 1);
    EXPECT_EQ(one.responses[creation].status, 201u);
}

TEST_F(token_wait_test, too_much_content_is_refused_after_the_wait) {
    service.settings.body_bytes_max = 100;
    http2_conversation server(service);
    nghttp2_client one(server);
    auto const creation =
        one.submit(head(fresh_key(), "POST"), unique_user() + std::string(90, ' '));
    EXPECT_EQ(finish(server, one), 1);
    EXPECT_EQ(one.responses[creation].status, 413u);
    EXPECT_FALSE(server.committed());
}

TEST_F(token_wait_test, content_without_memory_for_it_is_refused_after_the_wait) {
    http2_conversation server(service);
    nghttp2_client one(server);
    auto const creation = one.submit(head(fresh_key(), "POST"), unique_user());
    server.denies_bodies = true;
    one.exchange();
    server.denies_bodies = false;
    EXPECT_EQ(finish(server, one), 1);
    EXPECT_EQ(one.responses[creation].status, 503u);
    EXPECT_FALSE(server.committed());
}

TEST_F(token_wait_test, a_stream_that_is_reset_meanwhile_is_not_carried_out) {
    http2_conversation server(service);
    nghttp2_client one(server);
    auto const write = one.submit(head(fresh_key(), "POST"), unique_user());
    auto const path = "/api/v1/users/" + std::to_string(service.add_user());
    auto const removal = one.submit(head(fresh_key(), "DELETE", path));
    one.exchange();
    EXPECT_EQ(server.token_waits(), 2u);
    for (auto const each : {write, removal})
        nghttp2_submit_rst_stream(one.native(), NGHTTP2_FLAG_NONE, each, NGHTTP2_CANCEL);
    one.exchange();
    EXPECT_EQ(server.in_progress(), 2u) << "their places are kept";
    EXPECT_EQ(finish(server, one), 1);
    EXPECT_EQ(server.in_progress(), 0u);
    EXPECT_FALSE(server.committed());
    EXPECT_TRUE(server.statuses().empty());
}

}  // namespace
}  // namespace latchkey::session
