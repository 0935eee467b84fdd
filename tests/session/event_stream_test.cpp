// Responses that do not end (docs/api.md §16), in the sessions of both protocols: framing, windows,
// comments, and every way in which they end.
#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "base/time_units.hpp"
#include "conversation.hpp"
#include "http2_conversation.hpp"
#include "nghttp2_client.hpp"

namespace latchkey::session {
namespace {

using base::second;

// The content of the chunks at the beginning of `text`, which is removed; false in `ended`: the last
// chunk has not come.
struct content {
    std::string text;
    bool is_over = false;
};
content take_chunks(std::string_view& text) {
    content result;
    while (!text.empty()) {
        auto const line = text.find("\r\n");
        auto const size = std::stoul(std::string(text.substr(0, line)), nullptr, 16);
        result.text += text.substr(line + 2, size);
        EXPECT_EQ(text.substr(line + 2 + size, 2), "\r\n");
        text.remove_prefix(line + 4 + size);
        if (size != 0) continue;
        result.is_over = true;
        break;
    }
    return result;
}

std::vector<model::id> ids_of(std::string_view events) {
    std::vector<model::id> ids;
    for (auto i = events.find("id: "); i != events.npos; i = events.find("\nid: ", i)) {
        i += events[i] == '\n' ? 5 : 4;
        ids.push_back(std::stoll(std::string(events.substr(i))));
    }
    return ids;
}

// ---- HTTP/1.1

class http1_events : public api::api_test {
  protected:
    static constexpr auto path = "/api/v1/changes?after=latest";
    static std::string get(std::string const& key, std::string const& target = path,
                           std::string const& method = "GET") {
        return api::request_text(method + " " + target,
                                 {api::bearer(key), "Accept: text/event-stream"});
    }
    void open(std::string const& key, std::string const& target = path) {
        client.receive(get(key, target));
        auto const output = take();
        auto const end = output.find("\r\n\r\n");
        head = output.substr(0, end + 2);
        rest = output.substr(end + 4);
    }
    std::string take() {
        auto const all = client.output().substr(batch_);
        batch_ = client.output().size();
        return all;
    }
    content take_content() {
        auto const text = std::exchange(rest, {}) + take();
        std::string_view view = text;
        auto result = take_chunks(view);
        rest = view;
        return result;
    }

    conversation client{service};
    std::string head, rest;

  private:
    std::size_t batch_ = 0;
};

TEST_F(http1_events, begin_with_a_head_and_go_on_in_chunks) {
    open(service.key);
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
    EXPECT_NE(head.find("\r\nContent-Type: text/event-stream; charset=utf-8\r\n"), head.npos);
    EXPECT_NE(head.find("\r\nCache-Control: no-store\r\n"), head.npos);
    EXPECT_NE(head.find("\r\nX-Accel-Buffering: no\r\n"), head.npos);
    EXPECT_NE(head.find("\r\nTransfer-Encoding: chunked\r\n"), head.npos);
    EXPECT_EQ(head.find("Content-Length"), head.npos);
    EXPECT_EQ(take_content().text, "retry: 2000\n\n");
    EXPECT_EQ(service.open_streams(), 1u);

    service.add_user();
    client.wake();
    auto const first = take_content();
    EXPECT_NE(first.text.find("event: user.created\ndata: {"), first.text.npos) << first.text;
    EXPECT_TRUE(first.text.ends_with("}\n\n"));
    EXPECT_FALSE(first.is_over);
    auto const bound = ids_of(first.text);
    ASSERT_EQ(bound.size(), 1u);
    service.add_user();
    service.add_user();
    client.wake();
    EXPECT_EQ(ids_of(take_content().text), (std::vector<model::id>{bound[0] + 1, bound[0] + 2}));
    client.wake();
    EXPECT_EQ(take(), "");
}

TEST_F(http1_events, a_head_request_gets_the_head_alone) {
    client.receive(get(service.key, path, "HEAD"));
    auto const output = take();
    EXPECT_TRUE(output.starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_TRUE(output.ends_with("\r\n\r\n"));
    EXPECT_EQ(service.open_streams(), 0u);
    client.receive(api::request_text("GET /api/v1/users", {api::bearer(service.key)}));
    EXPECT_TRUE(take().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(http1_events, to_http_1_0_they_end_with_the_connection) {
    client.receive("GET /api/v1/changes?after=latest HTTP/1.0\r\nConnection: keep-alive\r\n" +
                   api::bearer(service.key) + "\r\nAccept: text/event-stream\r\n\r\n");
    auto const output = take();
    EXPECT_EQ(output.find("Transfer-Encoding"), output.npos);
    EXPECT_NE(output.find("Connection: close\r\n"), output.npos);
    EXPECT_TRUE(output.ends_with("\r\n\r\nretry: 2000\n\n"));
    service.add_user();
    client.wake();
    EXPECT_TRUE(take().starts_with("id: "));
    client.draining = true;
    client.wake();
    EXPECT_EQ(take(), "");
    EXPECT_TRUE(client.closed());
}

TEST_F(http1_events, a_comment_comes_after_15_seconds_without_events) {
    open(service.key);
    take_content();
    EXPECT_EQ(client.deadline(), service.now.mono + 15 * second);
    service.advance(14'000);
    client.wake();
    EXPECT_EQ(take(), "");
    service.add_user();
    client.wake();
    EXPECT_EQ(client.deadline(), service.now.mono + 15 * second);
    take_content();
    service.advance(15'000);
    client.wake();
    EXPECT_EQ(take_content().text, ":\n\n");
    EXPECT_EQ(client.deadline(), service.now.mono + 15 * second);
}

TEST_F(http1_events, input_waits_until_they_have_ended) {
    open(service.key);
    take_content();
    client.receive(api::request_text("GET /api/v1/users", {api::bearer(service.key)}));
    EXPECT_EQ(take(), "");
    service.add_user();
    client.wake();
    EXPECT_EQ(ids_of(take_content().text).size(), 1u);

    client.draining = true;
    client.wake();
    auto const end = take_content();
    EXPECT_EQ(end.text, "");
    EXPECT_TRUE(end.is_over);
    EXPECT_TRUE(client.closed());
    EXPECT_EQ(service.open_streams(), 0u);
}

TEST_F(http1_events, end_when_the_client_does) {
    open(service.key);
    take_content();
    client.wake(wake_reason::end);
    EXPECT_EQ(take(), "");
    EXPECT_TRUE(client.closed());
    EXPECT_EQ(service.open_streams(), 0u);
}

TEST_F(http1_events, end_with_their_key_and_the_connection_goes_on) {
    auto const key = service.add_key({"changes:read"});
    open(key);
    take_content();
    service.request("POST /api/v1/keys/" + std::to_string(service.last_key()) + "/deactivate");
    client.receive(api::request_text("GET /api/v1/users", {api::bearer(service.key)}));
    auto const end = take_content();
    EXPECT_EQ(end.text, "");
    EXPECT_TRUE(end.is_over);
    EXPECT_TRUE(rest.starts_with("HTTP/1.1 200 OK\r\n")) << rest;
    EXPECT_FALSE(client.closed());
    EXPECT_EQ(service.open_streams(), 0u);
}

TEST_F(http1_events, end_when_their_key_loses_the_scope) {
    auto const key = service.add_key({"changes:read"});
    open(key);
    take_content();
    service.request("PATCH /api/v1/keys/" + std::to_string(service.last_key()),
                    R"({"scopes":["users:read"]})");
    client.wake();
    EXPECT_TRUE(take_content().is_over);
}

TEST_F(http1_events, end_when_their_key_is_bound_to_other_addresses) {
    auto const key = service.add_key({"changes:read"});
    open(key);
    take_content();
    service.request("PATCH /api/v1/keys/" + std::to_string(service.last_key()),
                    R"({"ip_allowlist":["198.51.100.0/24"]})");
    client.wake();
    EXPECT_TRUE(take_content().is_over);
}

TEST_F(http1_events, end_when_their_key_expires) {
    auto const key = service.add_key({"changes:read"},
                                     {.expires_at = service.now.wall + 4'000, .rate_limits = {}});
    open(key);
    take_content();
    EXPECT_EQ(client.deadline(), service.now.mono + 4 * second);
    service.advance(4'000);
    client.wake();
    EXPECT_TRUE(take_content().is_over);
}

TEST_F(http1_events, beyond_their_number_a_request_is_refused) {
    service.settings.streams_max = 1;
    open(service.key);
    conversation other(service);
    other.receive(get(service.key));
    EXPECT_TRUE(other.output().starts_with("HTTP/1.1 503 ")) << other.output();
    EXPECT_NE(other.output().find(R"("code":"overloaded")"), std::string::npos);
    client.wake(wake_reason::end);
    conversation third(service);
    third.receive(get(service.key));
    EXPECT_TRUE(third.output().starts_with("HTTP/1.1 200 "));
}

// Two parties: a key gets another stream while more are left than it has, its project while a third
// as many are.
TEST_F(http1_events, of_one_key_or_project_leave_room_to_others) {
    service.settings.streams_max = 16;
    std::vector<std::unique_ptr<conversation>> open_streams;
    auto const open_all = [&](std::string const& key) {
        for (std::size_t count = 0;; ++count) {
            auto each = std::make_unique<conversation>(service);
            each->receive(get(key));
            if (!each->output().starts_with("HTTP/1.1 200 ")) {
                EXPECT_NE(each->output().find(R"("code":"overloaded")"), std::string::npos);
                return count;
            }
            open_streams.push_back(std::move(each));
        }
    };
    auto const own = service.add_key({"changes:read"});
    auto const sibling = service.add_key({"changes:read"});
    EXPECT_EQ(open_all(own), 8);
    EXPECT_EQ(open_all(sibling), 4) << "three quarters of all, with the first";
    EXPECT_EQ(open_all(service.add_key({"changes:read"})), 0);
    EXPECT_EQ(open_all(service.add_key({"changes:read"}, {.project = "other", .rate_limits = {}})),
              2);
    for (std::size_t i = 0; i < 8; ++i) open_streams[i]->wake(wake_reason::end);
    open_streams.erase(open_streams.begin(), open_streams.begin() + 8);
    EXPECT_EQ(open_all(own), 5) << "what has ended is left to all";
}

TEST_F(http1_events, go_on_behind_the_last_one_that_the_client_has_seen) {
    open(service.key);
    take_content();
    for (int i = 0; i < 3; ++i) service.add_user();
    client.wake();
    auto const ids = ids_of(take_content().text);
    ASSERT_EQ(ids.size(), 3u);
    conversation again(service);
    auto const last_seen = "Last-Event-ID: " + std::to_string(ids[0]);
    again.receive(
        api::request_text("GET /api/v1/changes?after=latest",
                          {api::bearer(service.key), "Accept: text/event-stream", last_seen}));
    EXPECT_EQ(ids_of(again.output()), (std::vector<model::id>{ids[1], ids[2]}));
    conversation wrong(service);
    wrong.receive(api::request_text(
        "GET /api/v1/changes",
        {api::bearer(service.key), "Accept: text/event-stream", "Last-Event-ID: -1"}));
    EXPECT_TRUE(wrong.output().starts_with("HTTP/1.1 400 "));
    EXPECT_NE(wrong.output().find(R"("header":"Last-Event-ID")"), std::string::npos);
    for (auto const& [first, second] :
         {std::pair("", "1"), std::pair("1", ""), std::pair("1", "1")}) {
        conversation twice(service);
        twice.receive(api::request_text(
            "GET /api/v1/changes",
            {api::bearer(service.key), "Accept: text/event-stream",
             std::string("Last-Event-ID: ") + first, std::string("Last-Event-ID: ") + second}));
        EXPECT_TRUE(twice.output().starts_with("HTTP/1.1 400 ")) << first << "," << second;
    }
}

// A stream has no entity tag: as of all that has none, only `*` is one of its.
TEST_F(http1_events, obey_conditions) {
    auto const status = [&](std::string const& condition) {
        conversation conditional(service);
        conditional.receive(
            api::request_text(std::string("GET ") + path,
                              {api::bearer(service.key), "Accept: text/event-stream", condition}));
        return conditional.output().substr(9, 3);
    };
    EXPECT_EQ(status("If-Match: \"x\""), "412");
    EXPECT_EQ(status("If-None-Match: *"), "304");
    EXPECT_EQ(service.open_streams(), 0u);
    EXPECT_EQ(status("If-Match: *"), "200");
    EXPECT_EQ(status("If-None-Match: \"x\", W/\"y\""), "200");
}

TEST_F(http1_events, many_come_in_bounded_steps_and_in_order) {
    auto const user = service.add_user();
    for (int i = 0; i < 400; ++i)
        service.add_post(user, model::post_status::draft, std::string(200, 'x'));
    client.receive(get(service.key, "/api/v1/changes?type=post.*&after=0"));
    auto const output = take();
    std::string_view text = std::string_view(output).substr(output.find("\r\n\r\n") + 4);
    std::size_t largest = 0;
    for (auto part = text; !part.empty();) {
        auto const size = std::stoul(std::string(part.substr(0, part.find("\r\n"))), nullptr, 16);
        largest = std::max(largest, size);
        part.remove_prefix(part.find("\r\n") + 4 + size);
    }
    EXPECT_LT(largest, base::limits::stream_step_bytes_max + base::limits::kib);
    auto const ids = ids_of(take_chunks(text).text);
    EXPECT_EQ(ids.size(), 400u);
    EXPECT_TRUE(std::ranges::is_sorted(ids));
}

// ---- HTTP/2

class http2_events : public api::api_test {
  protected:
    static constexpr std::uint32_t window = 1'000;
    static constexpr std::size_t stream_bytes = 1024;  // that an open stream holds without content
    fields request(std::string const& key, std::string method = "GET",
                   std::string path = "/api/v1/changes?after=latest") const {
        return {{":method", std::move(method)},     {":scheme", "https"},
                {":authority", "latchkey.test"},    {":path", std::move(path)},
                {"authorization", "Bearer " + key}, {"accept", "text/event-stream"}};
    }
};

TEST_F(http2_events, begin_with_a_head_and_go_on_beside_other_streams) {
    http2_conversation server(service);
    nghttp2_client client(server);
    auto const events = client.submit(request(service.key));
    client.exchange();
    auto& answer = client.responses[events];
    EXPECT_EQ(answer.status, 200u);
    EXPECT_EQ(answer.fields["content-type"], "text/event-stream; charset=utf-8");
    EXPECT_EQ(answer.fields["cache-control"], "no-store");
    EXPECT_EQ(answer.fields.count("content-length"), 0u);
    EXPECT_EQ(answer.body, "retry: 2000\n\n");
    EXPECT_FALSE(answer.closed);
    EXPECT_LE(server.held_bytes(), stream_bytes);

    auto const other = client.submit(request(service.key, "GET", "/api/v1/users"));
    client.exchange();
    EXPECT_EQ(client.responses[other].status, 406u);
    service.add_user();
    server.wake_events();
    client.exchange();
    EXPECT_EQ(ids_of(answer.body).size(), 1u);
    EXPECT_FALSE(answer.closed);
    EXPECT_EQ(server.in_progress(), 1u);
    EXPECT_LE(server.held_bytes(), stream_bytes);
}

TEST_F(http2_events, a_head_request_gets_the_head_alone) {
    http2_conversation server(service);
    nghttp2_client client(server);
    auto const head = client.submit(request(service.key, "HEAD"));
    client.exchange();
    EXPECT_EQ(client.responses[head].status, 200u);
    EXPECT_TRUE(client.responses[head].closed);
    EXPECT_EQ(service.open_streams(), 0u);
}

TEST_F(http2_events, wait_for_a_window_and_hold_little_meanwhile) {
    http2_conversation server(service);
    nghttp2_client client(server, false, window);
    auto const events = client.submit(request(service.key));
    client.exchange();
    for (int i = 0; i < 60; ++i) service.add_user();
    server.wake_events();
    client.exchange();
    auto& answer = client.responses[events];
    EXPECT_EQ(answer.body.size(), window);
    EXPECT_LE(server.held_bytes(), 4096u);

    auto const get = client.submit({{":method", "GET"},
                                    {":scheme", "https"},
                                    {":authority", "latchkey.test"},
                                    {":path", "/api/v1/users/1"},
                                    {"authorization", "Bearer " + service.key}});
    client.exchange();
    EXPECT_EQ(client.responses[get].status, 200u);
    EXPECT_TRUE(client.responses[get].closed);
    EXPECT_EQ(answer.body.size(), window);

    for (int i = 0; i < 60; ++i) {
        nghttp2_session_consume_stream(client.native(), events, window);
        client.exchange();
    }
    auto const ids = ids_of(answer.body);
    EXPECT_EQ(ids.size(), 60u);
    EXPECT_TRUE(std::ranges::is_sorted(ids));
    EXPECT_TRUE(answer.body.ends_with("}\n\n"));
    EXPECT_LE(server.held_bytes(), stream_bytes);
    EXPECT_FALSE(server.closed());
}

TEST_F(http2_events, without_a_window_for_long_the_connection_ends) {
    http2_conversation server(service);
    nghttp2_client client(server, false, window);
    client.submit(request(service.key));
    client.exchange();
    for (int i = 0; i < 60; ++i) service.add_user();
    server.wake_events();
    client.exchange();
    EXPECT_EQ(server.wait_deadline(), server.server.now.mono + 30 * second);
    server.pass(30 * second);
    server.wake(wake_reason::late);
    EXPECT_TRUE(server.closed());
}

TEST_F(http2_events, a_comment_comes_after_15_seconds_without_events) {
    http2_conversation server(service);
    nghttp2_client client(server);
    auto const events = client.submit(request(service.key));
    client.exchange();
    auto const size = client.responses[events].body.size();
    EXPECT_EQ(server.wait_deadline(), server.server.now.mono + 15 * second);
    server.pass(15 * second);
    server.wake(wake_reason::late);
    client.exchange();
    EXPECT_EQ(client.responses[events].body.substr(size), ":\n\n");
    EXPECT_EQ(server.wait_deadline(), server.server.now.mono + 15 * second);
}

TEST_F(http2_events, end_when_the_client_resets_them) {
    http2_conversation server(service);
    nghttp2_client client(server);
    auto const events = client.submit(request(service.key));
    client.exchange();
    EXPECT_EQ(service.open_streams(), 1u);
    nghttp2_submit_rst_stream(client.native(), NGHTTP2_FLAG_NONE, events, NGHTTP2_CANCEL);
    client.exchange();
    EXPECT_EQ(service.open_streams(), 0u);
    EXPECT_EQ(server.in_progress(), 0u);
    service.add_user();
    server.wake_events();
    EXPECT_EQ(server.take_output(), "");
}

TEST_F(http2_events, end_with_their_key_even_without_a_window) {
    for (bool const grants : {true, false}) {
        auto const key = service.add_key({"changes:read"});
        auto const id = service.last_key();
        http2_conversation server(service);
        nghttp2_client client(server, grants, window);
        auto const events = client.submit(request(key));
        client.exchange();
        for (int i = 0; i < 60; ++i) service.add_user();
        server.wake_events();
        client.exchange();
        EXPECT_FALSE(client.responses[events].closed);
        service.request("POST /api/v1/keys/" + std::to_string(id) + "/deactivate");
        server.wake_events();
        client.exchange();
        EXPECT_TRUE(client.responses[events].closed) << grants;
        EXPECT_EQ(client.responses[events].error, 0u);
        EXPECT_FALSE(server.closed());
        EXPECT_EQ(service.open_streams(), 0u);
    }
}

TEST_F(http2_events, end_in_order_when_the_service_drains) {
    http2_conversation server(service);
    nghttp2_client client(server);
    auto const events = client.submit(request(service.key));
    client.exchange();
    server.server.draining = true;
    server.wake_events();
    client.exchange();
    EXPECT_TRUE(client.responses[events].closed);
    EXPECT_EQ(client.responses[events].error, 0u);
    EXPECT_EQ(service.open_streams(), 0u);
    EXPECT_FALSE(client.goaways.empty());
    EXPECT_TRUE(server.closed());
}

TEST_F(http2_events, end_with_the_connection) {
    {
        http2_conversation server(service);
        nghttp2_client client(server);
        for (int i = 0; i < 3; ++i) client.submit(request(service.key));
        client.exchange();
        EXPECT_EQ(service.open_streams(), 3u);
    }
    EXPECT_EQ(service.open_streams(), 0u);
}

}  // namespace
}  // namespace latchkey::session
