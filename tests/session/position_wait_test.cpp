// A request that waits for a position of the store (api.md §15), in the sessions of both protocols:
// it is kept although its bytes go, and goes on with its own commit, or is refused.
#include "conversation.hpp"
#include "http2_conversation.hpp"
#include "nghttp2_client.hpp"

namespace latchkey::session {
namespace {

using api::request_text;
using base::problem;

constexpr auto user = R"({"name":"Ada","email":"ada@example.com"})";

class waits : public api::api_test {
  protected:
    waits() { service.services().is_node = true; }
    std::string post_text() const {
        return request_text("POST /api/v1/users",
                            {api::bearer(service.key), "Consistency-Token: 7"}, user);
    }
    fields post_fields() const {
        return {{":method", "POST"},
                {":scheme", "https"},
                {":authority", "latchkey.test"},
                {":path", "/api/v1/users"},
                {"authorization", "Bearer " + service.key},
                {"content-type", "application/json"},
                {"consistency-token", "7"}};
    }
    static void expect_wait(domain::command const& command) {
        auto const* const wait = std::get_if<domain::await_position>(&command.action);
        ASSERT_NE(wait, nullptr);
        EXPECT_EQ(wait->position, 7u);
    }
};

struct http1_client {
    explicit http1_client(api_fixture& service)
        : shared(configured(service)), session(*shared, service.peer) {
        service.services().snapshot.renew();
        server = {.now = service.now, .ready_since = service.now.mono};
    }
    step advance(std::string_view bytes = {}) {
        // In a place of its own each time, which ends with the call, as a receive buffer does.
        std::string input(bytes);
        auto const next = session.advance(input, wake_reason::bytes, server, interim);
        input.assign(input.size(), '#');
        return next;
    }
    std::string write() {
        std::string output;
        session.write(output, server);
        session.finish_write();
        return output;
    }
    static std::unique_ptr<context> configured(api_fixture& service) {
        auto result = std::make_unique<context>();
        configure(*result, service);
        return result;
    }
    std::unique_ptr<context> shared;
    server_state server;
    std::string interim;
    http1 session;
};

TEST_F(waits, over_http1_a_write_goes_on_with_a_commit_of_its_own) {
    http1_client client(service);
    ASSERT_EQ(client.advance(post_text()).kind, step_kind::commit);
    expect_wait(client.session.take_command());
    client.session.complete(client.session.current(), {});
    ASSERT_EQ(client.advance().kind, step_kind::commit);
    auto command = client.session.take_command();
    ASSERT_TRUE(std::holds_alternative<domain::create_user>(command.action));
    client.session.complete(client.session.current(), service.commit(std::move(command)));
    ASSERT_EQ(client.advance().kind, step_kind::write);
    EXPECT_TRUE(client.write().starts_with("HTTP/1.1 201"));
}

TEST_F(waits, over_http1_end_with_a_refusal) {
    http1_client client(service);
    ASSERT_EQ(client.advance(post_text()).kind, step_kind::commit);
    client.session.take_command();
    client.session.complete(client.session.current(), {.problem = problem::behind});
    ASSERT_EQ(client.advance().kind, step_kind::write);
    EXPECT_TRUE(client.write().starts_with("HTTP/1.1 503"));
}

TEST_F(waits, over_http2_hold_up_no_other_stream_and_go_on) {
    http2_conversation server(service);
    server.hold_commits();
    nghttp2_client client(server);
    auto const waiting = client.submit(post_fields(), user);
    client.exchange();
    ASSERT_EQ(server.held_commits(), 1u);
    auto others = post_fields();
    others.pop_back();
    others[0].second = "GET";
    auto const read = client.submit(others);
    client.exchange();
    EXPECT_EQ(client.responses[read].status, 200u);
    EXPECT_EQ(client.responses[waiting].status, 0u);
    service.next_outcome = domain::outcome{};
    server.finish_commits();
    server.receive({});
    ASSERT_EQ(server.held_commits(), 1u) << "its own commit";
    server.finish_commits();
    client.exchange();
    EXPECT_EQ(client.responses[waiting].status, 201u);
    EXPECT_EQ(server.in_progress(), 0u);
}

TEST_F(waits, over_http2_end_with_a_refusal_or_with_the_stream) {
    http2_conversation server(service);
    server.hold_commits();
    nghttp2_client client(server);
    auto const first = client.submit(post_fields(), user);
    client.exchange();
    service.next_outcome = domain::outcome{.problem = problem::behind};
    server.finish_commits();
    client.exchange();
    EXPECT_EQ(client.responses[first].status, 503u);

    auto const second = client.submit(post_fields(), user);
    client.exchange();
    nghttp2_submit_rst_stream(client.native(), NGHTTP2_FLAG_NONE, second, NGHTTP2_CANCEL);
    client.exchange();
    service.next_outcome = domain::outcome{};
    server.finish_commits();
    server.receive({});
    EXPECT_EQ(server.held_commits(), 0u) << "a stream that was reset begins nothing new";
    EXPECT_EQ(server.in_progress(), 0u);
}

}  // namespace
}  // namespace latchkey::session
