// Header fields of every response (api.md §1): ids, caching, transport.
#include <set>

#include "../harness.hpp"
#include "base/base62.hpp"

namespace latchkey::api {
namespace {

TEST_F(api_test, a_valid_request_id_of_the_client_is_kept) {
    std::string const longest(64, 'a');
    for (auto const& id : lines{"12345678", "a-b_c-D9", longest, "--------", "req_short"}) {
        auto const response = service.request("GET /api/v1/users", {}, {"X-Request-Id: " + id});
        EXPECT_EQ(response.field("X-Request-Id"), id);
        EXPECT_EQ(service.exchange.request_id(), id);
    }
    std::set<std::string> fresh;
    for (auto const& id : lines{"", "1234567", longest + "a", "12345678!", "1234 5678", "12345678;",
                                "1234\xc3\xa4 5678", "a.b.c.d.e", "12345678\""}) {
        auto const response =
            service.request("GET /api/v1/users/nothing", {}, {"X-Request-Id: " + id});
        auto const request_id = response.field("X-Request-Id");
        EXPECT_TRUE(request_id.starts_with("req_")) << id << " → " << request_id;
        EXPECT_EQ(request_id.size(), 26u);
        EXPECT_EQ(request_id.find_first_not_of(base::base62_digits, 4), request_id.npos);
        EXPECT_TRUE(fresh.insert(request_id).second) << "an id twice";
    }
    EXPECT_TRUE(service.request("GET /").field("X-Request-Id").starts_with("req_"));
    auto const refusal = service.request("GET /", {}, {"X-Request-Id: 12345678", "Host: twice"});
    EXPECT_EQ(refusal.code(), "malformed_request");
    EXPECT_TRUE(refusal.field("X-Request-Id").starts_with("req_")) << "its head is not trusted";
    lines const twice{"X-Request-Id: 12345678", "X-Request-Id: 12345678"};
    EXPECT_TRUE(service.request("GET /", {}, twice).field("X-Request-Id").starts_with("req_"));
}

TEST_F(api_test, a_trace_is_taken_from_a_well_formed_traceparent) {
    std::string const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    std::string const span = "-00f067aa0ba902b7-";
    std::string const none(32, '0');
    std::pair<std::string, std::string> const rows[] = {
        {"00-" + trace + span + "01", trace},
        {"00-" + trace + span + "ff", trace},
        {"01-" + trace + span + "01", trace},
        {"cc-" + trace + span + "01-what-comes-later", trace},
        {"cc-" + trace + span + "01.what", ""},
        {"00-" + trace + span + "01-more", ""},
        {"ff-" + trace + span + "01", ""},
        {"00-" + none + span + "01", ""},
        {"00-" + trace + "-0000000000000000-01", ""},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736" + span + "01", ""},
        {"00-" + trace + span + "0", ""},
        {"00-" + trace.substr(1) + span + "01", ""},
        {"00_" + trace + span + "01", ""},
        {"0x-" + trace + span + "01", ""},
        {"", ""},
    };
    for (auto const& [field, expected] : rows) {
        service.request("GET /api/v1/users", {}, {"traceparent: " + field});
        EXPECT_EQ(service.exchange.trace_id(), expected) << field;
    }
    service.request("GET /api/v1/users", {}, {"Traceparent: " + rows[0].first});
    EXPECT_EQ(service.exchange.trace_id(), trace);
    // Which of two is the caller's cannot be told (W3C Trace Context §3.2).
    service.request("GET /api/v1/users", {},
                    {"traceparent: " + rows[0].first, "traceparent: " + rows[1].first});
    EXPECT_EQ(service.exchange.trace_id(), "");
    service.request("GET /api/v1/users", {}, {"Traceparent: " + rows[0].first});
    service.request("GET /api/v1/users");
    EXPECT_EQ(service.exchange.trace_id(), "") << "that of the request before";
}

TEST_F(api_test, a_trace_has_a_parent_and_the_flag_that_samples_it) {
    std::string const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";
    for (auto const& [flags, is_sampled] :
         {std::pair("00", false), {"01", true}, {"fe", false}, {"0b", true}, {"a2", false}}) {
        service.request("GET /api/v1/users", {}, {"traceparent: " + trace + flags});
        EXPECT_EQ(service.exchange.parent_span_id(), "00f067aa0ba902b7");
        EXPECT_EQ(service.exchange.is_trace_sampled(), is_sampled) << flags;
    }
    service.request("GET /api/v1/users", {}, {"traceparent: " + trace + "01"});
    service.request("GET /api/v1/users");
    EXPECT_EQ(service.exchange.parent_span_id(), "");
    EXPECT_FALSE(service.exchange.is_trace_sampled());
}

TEST_F(api_test, caching) {
    auto const id = std::to_string(service.add_user());
    auto const user = R"({"name":"Eve","email":"eve@example.com"})";
    struct {
        std::string line;
        std::string body;
        std::string_view expected;
    } const rows[] = {
        {"GET /api/v1/users", "", "private, no-cache"},
        {"GET /api/v1/users?email=a@b.c", "", "private, no-cache"},
        {"GET /api/v1/users/" + id, "", "private, no-cache"},
        {"HEAD /api/v1/users/" + id, "", "private, no-cache"},
        {"GET /api/v1/users/" + id + "?include=posts", "", "private, no-cache"},
        {"GET /api/v1/users/" + id + "/posts", "", "private, no-cache"},
        {"GET /api/v1/posts", "", "private, no-cache"},
        {"GET /api/v1/posts/9", "", "no-store"},
        {"POST /api/v1/users", user, "no-store"},
        {"PATCH /api/v1/users/" + id, "{}", "no-store"},
        {"DELETE /api/v1/users/" + id, "", "no-store"},
    };
    for (auto const& row : rows) {
        auto const response = service.request(row.line, row.body);
        EXPECT_EQ(response.fields("Cache-Control"), lines{std::string(row.expected)}) << row.line;
    }
}

TEST_F(api_test, vary_where_a_key_is_needed) {
    lines const varies{"Authorization, X-API-Key"};
    EXPECT_EQ(service.request("GET /api/v1/users").fields("Vary"), varies);
    EXPECT_EQ(service.request("OPTIONS /api/v1/users").fields("Vary"), varies);
    EXPECT_EQ(service.request("GET /nothing").fields("Vary"), varies);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users").fields("Vary"), varies);
    EXPECT_EQ(service.request_anonymous("POST /api/v1/users", "{}").fields("Vary"), varies);
    EXPECT_EQ(
        service.request("POST /api/v1/users", R"({"name":"A","email":"a@b.c"})").fields("Vary"),
        varies);
    EXPECT_EQ(service.request("GET /healthz").fields("Vary"), lines{});
}

TEST_F(api_test, strict_transport_security_over_tls_with_a_configured_certificate) {
    peer const local{.tls = false, .local = true, .client = std::nullopt};
    auto const tls = service.peer;
    for (bool const configured : {true, false})
        for (bool const secure : {true, false}) {
            service.settings.strict_transport_security = configured;
            service.peer = secure ? tls : local;
            for (auto const* const line :
                 {"GET /api/v1/users", "GET /nothing", "GET /healthz", "OPTIONS /api/v1/users"})
                EXPECT_EQ(service.request(line).fields("Strict-Transport-Security").size(),
                          configured && secure ? 1u : 0u)
                    << line;
        }
}

TEST_F(api_test, the_log_gets_route_key_and_source) {
    auto const id = std::to_string(service.add_user());
    auto const narrow = service.add_key({"posts:read"}, {.project = "shop", .rate_limits = {}});
    auto const key = service.last_key();
    EXPECT_EQ(service.request_anonymous("GET /users/" + id, {}, {"X-API-Key: " + narrow}).status,
              403);
    EXPECT_EQ(service.exchange.key_id(), key);
    EXPECT_EQ(service.exchange.project(), "shop");
    EXPECT_EQ(service.exchange.route(), "/api/v1/users/{id}");
    EXPECT_EQ(service.exchange.source(), key_source::header);
    // The next request of the connection does not have it.
    service.request_anonymous("GET /nothing");
    EXPECT_EQ(service.exchange.key_id(), 0);
    EXPECT_EQ(service.exchange.project(), "");
    EXPECT_EQ(service.exchange.route(), "");
    EXPECT_EQ(service.exchange.source(), key_source::none);
}

TEST_F(api_test, a_key_is_named_when_it_is_refused_for_its_limits) {
    auto const key = service.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}});
    service.exhaust();
    service.request_anonymous("GET /api/v1/users", {}, {bearer(key)});
    EXPECT_EQ(service.exchange.key_id(), service.last_key());
    auto const deactivated = service.add_key({"*"}, {.expires_at = 1});
    service.request_anonymous("GET /api/v1/users", {}, {bearer(deactivated)});
    EXPECT_EQ(service.exchange.key_id(), service.last_key());
}

}  // namespace
}  // namespace latchkey::api
