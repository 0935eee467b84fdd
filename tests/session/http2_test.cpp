// HTTP/2 against libnghttp2 as a client, and frame by frame by the sections of RFC 9113.
#include <gtest/gtest.h>

#include "http2_conversation.hpp"
#include "http2_reader.hpp"
#include "http2_script.hpp"
#include "nghttp2_client.hpp"
#include "wire/http2/hpack_encoder.hpp"

namespace latchkey::session {
namespace {

constexpr base::mono_ns second = 1'000'000'000;
using client = nghttp2_client;

class http2_test : public api::api_test {
  protected:
    fields request(std::string method, std::string path, fields more = {}) const {
        fields head{{":method", std::move(method)},
                    {":scheme", "https"},
                    {":authority", "latchkey.test"},
                    {":path", std::move(path)},
                    {"authorization", "Bearer " + service.key}};
        head.insert(head.end(), more.begin(), more.end());
        return head;
    }
    fields post(fields more = {}) const {
        more.emplace_back("content-type", "application/json");
        return request("POST", "/api/v1/users", more);
    }
    static std::string user(std::string const& mail, std::string const& name = "Ada") {
        return R"({"name":")" + name + R"(","email":")" + mail + "\"}";
    }
};

TEST_F(http2_test, gets_and_posts) {
    auto const id = service.add_user();
    http2_conversation server(service);
    client one(server);
    auto const path = "/api/v1/users/" + std::to_string(id);
    auto const get = one.submit(request("GET", path)), head = one.submit(request("HEAD", path));
    auto const created = one.submit(post(), user("a@example.com"));
    auto const missing = one.submit(request("GET", "/api/v1/users/999"));
    auto const removed = one.submit(request("DELETE", path));
    one.exchange();
    EXPECT_EQ(one.responses[get].status, 200u);
    EXPECT_NE(one.responses[get].body.find("\"name\":\"Ada\""), std::string::npos);
    EXPECT_EQ(one.responses[get].fields["content-type"], "application/json; charset=utf-8");
    EXPECT_EQ(one.responses[get].fields["content-length"],
              std::to_string(one.responses[get].body.size()));
    EXPECT_EQ(one.responses[get].fields.count("date"), 1u);
    EXPECT_EQ(one.responses[get].fields.count("connection"), 0u);
    EXPECT_EQ(one.responses[head].status, 200u);
    EXPECT_EQ(one.responses[head].body, "");
    EXPECT_EQ(one.responses[head].fields["content-length"],
              one.responses[get].fields["content-length"]);
    EXPECT_EQ(one.responses[created].status, 201u);
    EXPECT_EQ(one.responses[missing].status, 404u);
    EXPECT_EQ(one.responses[removed].status, 204u);
    for (auto const& [stream, answer] : one.responses)
        EXPECT_TRUE(answer.closed && answer.error == 0) << stream;
    EXPECT_EQ(server.in_progress(), 0u);
    EXPECT_EQ(server.held_bytes(), 0u);
    EXPECT_TRUE(server.idle());
    EXPECT_FALSE(server.closed());
}

TEST_F(http2_test, is_the_same_split_at_every_byte) {
    service.add_user();
    for (std::size_t const part :
         {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{4096}}) {
        http2_conversation server(service);
        client one(server);
        auto const created = one.submit(
            post(), user("s" + std::to_string(part) + "@example.com", std::string(90, 'n')));
        auto const get = one.submit(request("GET", "/api/v1/users/1"));
        one.exchange(part);
        EXPECT_EQ(one.responses[created].status, 201u) << part;
        EXPECT_EQ(one.responses[get].status, 200u) << part;
    }
}

TEST_F(http2_test, a_stream_that_waits_holds_up_no_other) {
    service.add_user();
    http2_conversation server(service);
    server.hold_commits();
    client one(server);
    auto const slow = one.submit(post(), user("slow@example.com"));
    auto const get = one.submit(request("GET", "/api/v1/users/1"));
    one.exchange();
    EXPECT_EQ(one.responses[get].status, 200u);
    EXPECT_EQ(one.responses.count(slow), 0u);
    EXPECT_EQ(server.in_progress(), 1u);
    server.finish_commits();
    one.exchange();
    EXPECT_EQ(one.responses[slow].status, 201u);
    EXPECT_EQ(server.in_progress(), 0u);
}

// The connection forgets by it whose body it reads for a credential.
TEST_F(http2_test, a_commit_that_ends_names_its_own_stream) {
    http2_conversation server(service);
    server.hold_commits();
    client one(server);
    auto const slow = one.submit(post(), user("slow@example.com"));
    one.exchange();
    auto const get = one.submit(request("GET", "/api/v1/users/1"));
    one.exchange();
    EXPECT_EQ(server.current(), static_cast<http2::stream_id>(get));
    server.finish_commits();
    one.exchange();
    EXPECT_EQ(one.responses[slow].status, 201u);
    EXPECT_EQ(server.current(), static_cast<http2::stream_id>(slow));
}

// The time of the last input is not that of a response.
TEST_F(http2_test, an_idle_connection_counts_from_its_last_response) {
    http2_conversation server(service);
    server.hold_commits();
    client one(server);
    one.submit(post(), user("slow@example.com"));
    one.exchange();
    server.server.now.mono += 20 * second;
    server.finish_commits();
    server.wake(wake_reason::late);
    EXPECT_TRUE(server.idle());
    EXPECT_EQ(server.deadline(), server.server.now.mono + 60 * second);
}

TEST_F(http2_test, the_slot_of_a_reset_stream_is_free_when_its_work_ends) {
    http2_conversation server(service, {.streams_max = 1});
    server.hold_commits();
    client one(server);
    auto const first = one.submit(post(), user("first@example.com"));
    one.exchange();
    nghttp2_submit_rst_stream(one.native(), NGHTTP2_FLAG_NONE, first, NGHTTP2_CANCEL);
    one.exchange();
    EXPECT_EQ(server.in_progress(), 1u);
    auto const last = one.submit(request("GET", "/api/v1/users/1"));
    one.exchange();
    EXPECT_EQ(one.responses[last].error, NGHTTP2_REFUSED_STREAM);
    server.finish_commits();
    EXPECT_EQ(server.in_progress(), 0u);
    auto const third = one.submit(request("GET", "/api/v1/users/1"));
    one.exchange();
    EXPECT_EQ(one.responses[third].status, 200u) << "what was reset was done all the same";
}

// The exchange of a request refers to the settings that it began with.
TEST_F(http2_test, a_waiting_request_keeps_its_configuration_across_a_reload) {
    service.add_user();
    http2_conversation server(service);
    server.hold_commits();
    client one(server);
    one.submit(post(), user("reload@example.com"));
    one.exchange();
    auto const previous = server.reload();
    one.submit(request("GET", "/api/v1/users/1"));
    one.exchange();
    EXPECT_FALSE(previous.expired());
    server.finish_commits();
    one.exchange();
    EXPECT_TRUE(previous.expired());
}

TEST_F(http2_test, large_responses_wait_for_windows) {
    auto const author = service.add_user();
    for (int i = 0; i < 40; ++i)
        service.add_post(author, model::post_status::draft, std::string(190, 't'));
    http2_conversation server(service);
    client one(server, false);
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 8; ++i) ids.push_back(one.submit(request("GET", "/api/v1/posts?limit=40")));
    one.exchange();
    std::size_t bytes = 0;
    for (auto const id : ids) bytes += one.responses[id].body.size();
    EXPECT_EQ(bytes, 65'535u) << "the connection's window";
    EXPECT_GT(server.held_bytes(), 0u);
    EXPECT_FALSE(server.idle());
    nghttp2_submit_window_update(one.native(), NGHTTP2_FLAG_NONE, 0, 1 << 20);
    one.exchange();
    for (auto const id : ids) {
        EXPECT_TRUE(one.responses[id].closed);
        EXPECT_EQ(std::to_string(one.responses[id].body.size()),
                  one.responses[id].fields["content-length"]);
    }
    EXPECT_EQ(server.held_bytes(), 0u);
}

TEST_F(http2_test, the_most_urgent_response_comes_first) {
    auto const author = service.add_user();
    for (int i = 0; i < 40; ++i)
        service.add_post(author, model::post_status::draft, std::string(190, 't'));
    http2_conversation server(service);
    client one(server, false);
    std::vector<std::int32_t> ids;
    for (auto const* urgency : {"u=3", "u=3", "u=3", "u=3", "u=7", "u=0", "u=3"})
        ids.push_back(
            one.submit(request("GET", "/api/v1/posts?limit=40", {{"priority", urgency}})));
    one.exchange();
    auto const size_before = one.responses[ids[4]].body.size();
    nghttp2_submit_window_update(one.native(), NGHTTP2_FLAG_NONE, 0, 20'000);
    one.exchange();
    EXPECT_TRUE(one.responses[ids[5]].closed) << "u=0";
    EXPECT_EQ(one.responses[ids[4]].body.size(), size_before) << "u=7";
    nghttp2_submit_window_update(one.native(), NGHTTP2_FLAG_NONE, 0, 1 << 20);
    one.exchange();
    for (auto const id : ids) EXPECT_TRUE(one.responses[id].closed);
}

TEST_F(http2_test, a_client_that_grants_no_window_is_ended) {
    auto const author = service.add_user();
    for (int i = 0; i < 40; ++i)
        service.add_post(author, model::post_status::draft, std::string(190, 't'));
    http2_conversation server(service);
    client one(server, false);
    for (int i = 0; i < 8; ++i) one.submit(request("GET", "/api/v1/posts?limit=40"));
    one.exchange();
    EXPECT_LE(server.deadline(), server.server.now.mono + 30 * second);
    server.pass(31 * second);
    server.wake(wake_reason::late);
    EXPECT_TRUE(server.closed());
}

TEST_F(http2_test, bodies_get_their_window_back) {
    http2_conversation server(service, {.window_bytes = 64 * 1024});
    client one(server);
    auto const large = one.submit(post(), user("l@example.com", std::string(300'000, 'x')));
    one.exchange();
    EXPECT_EQ(one.responses[large].status, 422u) << "a name that is too long, read whole";
    auto const too_large = one.submit(post(), std::string(1'200'000, ' '));
    one.exchange();
    EXPECT_EQ(one.responses[too_large].status, 413u);
    server.pass(second);
    server.wake(wake_reason::late);
    one.exchange();
    EXPECT_TRUE(one.responses[too_large].closed);
    auto const announced =
        one.submit(post({{"content-length", "2000000"}}), std::string(2'000'000, ' '));
    one.exchange();
    EXPECT_EQ(one.responses[announced].status, 413u);
    auto const second_post = one.submit(post(), user("after@example.com"));
    one.exchange();
    EXPECT_EQ(one.responses[second_post].status, 201u);
}

// The rest of a request whose response came early.
class early_response : public http2_test {
  protected:
    std::string exchange(std::string const& frames) {
        reader.expect_acknowledgements(frames);
        server.receive(frames);
        reader.read(server.take_output());
        return reader.events();
    }
    // Answered with 401 before its content has come.
    std::string refused_post(std::uint32_t id) const {
        auto const head = script::client("no key").post_fields();
        return script::headers(id, script::block(head), script::whole_block);
    }

    http2_reader reader;
    http2_conversation server{service, {.streams_max = 4, .window_bytes = 64 * 1024}};
    std::string const frame = script::data(1, std::string(16'384, ' '));
};

TEST_F(early_response, drops_the_rest_and_resets_where_the_window_would_open_again) {
    exchange(std::string(h2::preface) + script::settings_of());
    EXPECT_EQ(exchange(refused_post(1)), "1: 401");
    server.pass(2 * second);
    EXPECT_EQ(exchange(frame + frame), "");
    EXPECT_EQ(exchange(frame), "1: RST_STREAM NO_ERROR");
    EXPECT_EQ(exchange(frame), "") << "it was on its way";
    EXPECT_EQ(server.held_bytes(), 0u);
    EXPECT_EQ(server.in_progress(), 0u);
    EXPECT_EQ(exchange(refused_post(3)), "3: 401");
}

// A client that reads both at once may take the response for lost.
TEST_F(early_response, is_not_followed_by_a_reset_within_a_second) {
    exchange(std::string(h2::preface) + script::settings_of());
    auto const idle_deadline = server.deadline();
    EXPECT_EQ(exchange(refused_post(1) + refused_post(3)), "1: 401; 3: 401");
    EXPECT_EQ(server.deadline(), idle_deadline) << "the client's windows are open";
    EXPECT_EQ(exchange(frame + frame + frame + frame), "");
    EXPECT_EQ(server.deadline(), server.server.now.mono + second);
    server.pass(second - 1);
    server.wake(wake_reason::late);
    EXPECT_EQ(exchange(""), "");
    server.pass(1);
    server.wake(wake_reason::late);
    EXPECT_EQ(exchange(""), "1: RST_STREAM NO_ERROR");
    EXPECT_EQ(server.deadline(), idle_deadline);
    EXPECT_FALSE(server.closed());
}

// It cannot send what would show that it goes on.
TEST_F(early_response, resets_where_the_client_has_no_window_left) {
    script::client const one(service.key);
    server.grants_bodies = false;
    exchange(std::string(h2::preface) + script::settings_of());
    auto const large = std::string(16'384, ' ');
    auto const post = one.post(1) + script::data(1, large) + script::data(1, large) +
                      script::data(1, large) + script::data(1, large.substr(1));
    EXPECT_EQ(exchange(post), "");
    server.pass(120 * second);
    server.wake(wake_reason::late);
    EXPECT_EQ(exchange(""), "1: 408");
    server.pass(second);
    server.wake(wake_reason::late);
    EXPECT_EQ(exchange(""), "1: RST_STREAM NO_ERROR");
}

TEST_F(early_response, is_followed_by_one_reset_at_most) {
    exchange(std::string(h2::preface) + script::settings_of());
    EXPECT_EQ(exchange(refused_post(1) + script::frame(h2::frame_type::priority, 0, 1, "four")),
              "1: 401; 1: RST_STREAM FRAME_SIZE_ERROR");
    server.pass(2 * second);
    EXPECT_EQ(exchange(frame + frame + frame), "");
    EXPECT_EQ(exchange(refused_post(3) + script::frame(h2::frame_type::data, h2::flag::padded, 3,
                                                       script::bytes({0xff}))),
              "3: 401; GOAWAY PROTOCOL_ERROR")
        << "padding is judged there too";
}

TEST_F(early_response, leaves_no_more_requests_without_an_end_than_streams_are_allowed) {
    exchange(std::string(h2::preface) + script::settings_of());
    for (std::uint32_t id = 1; id < 9; id += 2)
        EXPECT_EQ(exchange(refused_post(id)), std::to_string(id) + ": 401");
    EXPECT_EQ(exchange(refused_post(9)), "9: 401; 1: RST_STREAM NO_ERROR");
    EXPECT_EQ(exchange(frame), "") << "it was on its way";
    EXPECT_EQ(exchange(script::data(3, "", script::flag::end_stream) + refused_post(11)),
              "11: 401");
    EXPECT_FALSE(server.closed());
}

// SETTINGS are sent once: what a reload changes is for later connections.
TEST_F(http2_test, keeps_to_the_windows_that_it_announced) {
    for (auto const& [announced, reloaded] : {std::pair{64u, 1024u}, {1024u, 64u}}) {
        http2_conversation server(service, {.window_bytes = announced * 1024});
        client one(server);
        one.submit(request("GET", "/api/v1/users/1"));
        one.exchange();
        server.reload({.streams_max = 1, .window_bytes = reloaded * 1024});
        auto const mail = "r" + std::to_string(reloaded) + "@example.com";
        auto const large = one.submit(post(), user(mail) + std::string(700'000, ' '));
        auto const next = one.submit(request("GET", "/api/v1/users/1"));
        one.exchange();
        EXPECT_EQ(one.responses[large].status, 201u) << reloaded;
        EXPECT_EQ(one.responses[next].error, NGHTTP2_NO_ERROR) << "as many streams as announced";
        EXPECT_NE(one.responses[next].status, 0u);
    }
}

TEST_F(http2_test, answers_expectations) {
    http2_conversation server(service);
    client one(server);
    auto const expecting = one.submit(post({{"expect", "100-continue"}}), user("e@example.com"));
    auto const odd = one.submit(post({{"expect", "more"}}), user("o@example.com"));
    auto unreadable = post({{"expect", "more"}});
    std::erase_if(unreadable, [](auto const& field) { return field.first == "content-type"; });
    unreadable.emplace_back("content-type", "text/plain");
    auto const text = one.submit(unreadable, "{}");
    one.exchange();
    EXPECT_EQ(one.responses[expecting].interim, 1u);
    EXPECT_EQ(one.responses[expecting].status, 201u);
    EXPECT_EQ(one.responses[odd].status, 417u);
    EXPECT_EQ(one.responses[text].status, 415u) << "as over HTTP/1.1";
}

TEST_F(http2_test, an_empty_body_is_none) {
    http2_conversation server(service);
    client one(server);
    fields const head{{":method", "POST"},
                      {":scheme", "https"},
                      {":authority", "latchkey.test"},
                      {":path", "/api/v1/keys/current/deactivate"},
                      {"authorization", "Bearer " + service.add_key()}};
    auto const empty = one.submit(head, "", true);
    one.exchange();
    EXPECT_EQ(one.responses[empty].status, 200u);
    auto other = head;
    other.back().second = "Bearer " + service.add_key();
    auto const untyped = one.submit(other, "{}");
    one.exchange();
    EXPECT_EQ(one.responses[untyped].status, 415u);
    other.emplace_back("content-length", "0");
    auto const sized = one.submit(other, "", true);
    one.exchange();
    EXPECT_EQ(one.responses[sized].status, 200u);
}

TEST_F(http2_test, what_a_gateway_asks_has_no_body) {
    http2_conversation server(service);
    client one(server);
    auto const asks = one.submit(request("POST", "/auth", {{"content-length", "2097152"}}),
                                 std::string(2 << 20, 'x'));
    one.exchange();
    EXPECT_EQ(one.responses[asks].status, 200u);
}

TEST_F(http2_test, refuses_what_http_1_refuses) {
    http2_conversation server(service);
    client one(server);
    struct {
        fields head;
        unsigned status;
    } const rows[] = {
        {request("GET", "/api/v1/users/1" + std::string(9000, 'x')), 414},
        {request("GET", "/api/v1/users/1", {{"x-long", std::string(17'000, 'x')}}), 431},
        {request(std::string(33, 'M'), "/api/v1/users/1"), 501},
        {request("BREW", "/healthz"), 405},
        {request("QUERY", "/healthz"), 405},
        {request("PROPFIND", "/api/v1/users/1"), 405},
        {request("GET", "/api/v1/users/1", {{"host", "other.test"}}), 400},
        {request("GET", "/api/v1/users/1", {{"host", "latchkey.test"}}), 404},
        {{{":method", "CONNECT"}, {":authority", "latchkey.test:443"}}, 405},
        {{{":method", "GET"}, {":scheme", "https"}, {":authority", "a b"}, {":path", "/"}}, 400},
        {{{":method", "GET"}, {":scheme", "ftp"}, {":authority", "a"}, {":path", "/"}}, 400},
        {{{":method", "GET"},
          {":scheme", "https"},
          {":authority", "a"},
          {":path", "/api/v1/users/1"}},
         401},
    };
    for (auto const& row : rows) {
        auto const id = one.submit(row.head);
        one.exchange();
        EXPECT_EQ(one.responses[id].status, row.status) << row.head[0].second << " " << id;
    }
    EXPECT_TRUE(one.goaways.empty());
}

TEST_F(http2_test, short_of_memory_large_responses_need_a_key) {
    for (int i = 0; i < 40; ++i) service.add_user("Ada", std::to_string(i) + "@example.com");
    http2_conversation server(service);
    client one(server);
    server.server.short_of_memory = true;
    auto const list = one.submit(request("GET", "/api/v1/users?limit=100"));
    auto const health = one.submit(request("GET", "/healthz"));
    auto const document = one.submit(request("GET", "/openapi.json"));
    one.exchange();
    EXPECT_EQ(one.responses[list].status, 200u);
    EXPECT_GT(one.responses[list].body.size(), 4096u);
    EXPECT_EQ(one.responses[health].status, 200u);
    EXPECT_EQ(one.responses[document].status, 503u);
}

TEST_F(http2_test, drains_without_losing_a_request) {
    service.add_user();
    http2_conversation server(service);
    server.hold_commits();
    client one(server);
    auto const slow = one.submit(post(), user("d@example.com"));
    one.exchange();
    server.server.draining = true;
    server.wake(wake_reason::bytes);
    auto const late =
        one.submit(request("GET", "/api/v1/users/1"));  // before the client hears of it
    one.exchange();
    ASSERT_EQ(one.goaways.size(), 2u);
    EXPECT_EQ(one.goaways[0].first, 0x7fffffff);
    EXPECT_EQ(one.goaways[1].first, late);
    EXPECT_EQ(one.responses[late].status, 200u);
    EXPECT_FALSE(server.closed());
    server.finish_commits();
    server.wake(wake_reason::bytes);
    EXPECT_TRUE(server.closed());
    one.exchange();
    EXPECT_EQ(one.responses[slow].status, 201u);
}

TEST_F(http2_test, an_idle_connection_ends_in_order) {
    http2_conversation server(service);
    client one(server);
    one.exchange();
    EXPECT_TRUE(server.idle());
    EXPECT_EQ(server.deadline(), server.server.now.mono + 60 * second);
    server.pass(60 * second);
    server.wake(wake_reason::late);
    EXPECT_TRUE(server.closed());
    one.exchange();
    EXPECT_EQ(one.goaways, (std::vector<std::pair<std::int32_t, std::uint32_t>>{{0, 0}}));
}

TEST_F(http2_test, the_body_that_does_not_come_is_408) {
    http2_conversation server(service);
    client one(server);
    auto head = post({{"content-length", "100"}});
    h2::hpack_encoder encoder;
    std::string bytes(h2::preface), block;
    h2::put_settings({}, bytes);
    for (auto const& [name, value] : head) encoder.add(name, value, h2::indexing::never, block);
    h2::put_frame_head({static_cast<std::uint32_t>(block.size()), h2::frame_type::headers,
                        h2::flag::end_headers, 1},
                       bytes);
    server.receive(bytes + block);
    EXPECT_EQ(server.deadline(), server.server.now.mono + 30 * second);
    server.pass(30 * second);
    server.wake(wake_reason::late);
    EXPECT_EQ(server.statuses(), std::vector<unsigned>{408});
    EXPECT_EQ(server.in_progress(), 0u);
    EXPECT_FALSE(server.closed());
}

}  // namespace
}  // namespace latchkey::session
