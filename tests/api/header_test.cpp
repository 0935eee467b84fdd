// What stands in the head of an answer whatever it is about (API §1): ids, caching, transport.
#include <set>

#include "base/base62.hpp"
#include "harness.hpp"

namespace latchkey::api {
namespace {

TEST_F(api_test, a_request_id_of_the_client_is_kept_when_it_is_one) {
    std::string const longest(64, 'a');
    for (auto const& id : lines{"12345678", "a-b_c-D9", longest, "--------", "req_short"}) {
        auto const made = at.ask("GET /api/v1/users", {}, {"X-Request-Id: " + id});
        EXPECT_EQ(made.field("X-Request-Id"), id);
        EXPECT_EQ(at.exchange.request_id(), id);
    }
    std::set<std::string> fresh;
    for (auto const& id : lines{"", "1234567", longest + "a", "12345678!", "1234 5678", "12345678;",
                                "1234\xc3\xa4 5678", "a.b.c.d.e", "12345678\""}) {
        auto const made = at.ask("GET /api/v1/users/nothing", {}, {"X-Request-Id: " + id});
        auto const given = made.field("X-Request-Id");
        EXPECT_TRUE(given.starts_with("req_")) << id << " → " << given;
        EXPECT_EQ(given.size(), 26u);
        EXPECT_EQ(given.find_first_not_of(base::base62_digits, 4), given.npos);
        EXPECT_TRUE(fresh.insert(given).second) << "an id twice";
    }
    EXPECT_TRUE(at.ask("GET /").field("X-Request-Id").starts_with("req_"));
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
        at.ask("GET /api/v1/users", {}, {"traceparent: " + field});
        EXPECT_EQ(at.exchange.trace_id(), expected) << field;
    }
    at.ask("GET /api/v1/users", {}, {"Traceparent: " + rows[0].first});
    EXPECT_EQ(at.exchange.trace_id(), trace);
    at.ask("GET /api/v1/users");
    EXPECT_EQ(at.exchange.trace_id(), "") << "that of the request before";
}

TEST_F(api_test, caching) {
    auto const id = std::to_string(at.add_user());
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
        auto const made = at.ask(row.line, row.body);
        EXPECT_EQ(made.fields("Cache-Control"), lines{std::string(row.expected)}) << row.line;
    }
}

TEST_F(api_test, vary_where_a_key_decides) {
    lines const varies{"Authorization, X-API-Key"};
    EXPECT_EQ(at.ask("GET /api/v1/users").fields("Vary"), varies);
    EXPECT_EQ(at.ask("OPTIONS /api/v1/users").fields("Vary"), varies);
    EXPECT_EQ(at.ask("GET /nothing").fields("Vary"), varies);
    EXPECT_EQ(at.ask_bare("GET /api/v1/users").fields("Vary"), varies);
    EXPECT_EQ(at.ask_bare("POST /api/v1/users", "{}").fields("Vary"), varies);
    EXPECT_EQ(at.ask("POST /api/v1/users", R"({"name":"A","email":"a@b.c"})").fields("Vary"),
              varies);
    EXPECT_EQ(at.ask("GET /healthz").fields("Vary"), lines{});
}

TEST_F(api_test, strict_transport_security_over_tls_with_a_configured_certificate) {
    peer const local{.tls = false, .local = true, .client = std::nullopt};
    auto const tls = at.from;
    for (bool const configured : {true, false})
        for (bool const secure : {true, false}) {
            at.rules.strict_transport_security = configured;
            at.from = secure ? tls : local;
            for (auto const* const line :
                 {"GET /api/v1/users", "GET /nothing", "GET /healthz", "OPTIONS /api/v1/users"})
                EXPECT_EQ(at.ask(line).fields("Strict-Transport-Security").size(),
                          configured && secure ? 1u : 0u)
                    << line;
        }
}

TEST_F(api_test, the_log_is_told_what_came) {
    auto const id = std::to_string(at.add_user());
    auto const narrow = at.add_key({"posts:read"}, {.project = "shop", .rate_limits = {}});
    auto const key = at.last_key();
    EXPECT_EQ(at.ask_bare("GET /users/" + id, {}, {"X-API-Key: " + narrow}).status, 403);
    EXPECT_EQ(at.exchange.key_id(), key);
    EXPECT_EQ(at.exchange.project(), "shop");
    EXPECT_EQ(at.exchange.route(), "/api/v1/users/{id}");
    EXPECT_EQ(at.exchange.source(), key_source::header);
    // Nothing is left of it in the next request of the connection.
    at.ask_bare("GET /nothing");
    EXPECT_EQ(at.exchange.key_id(), 0);
    EXPECT_EQ(at.exchange.project(), "");
    EXPECT_EQ(at.exchange.route(), "");
    EXPECT_EQ(at.exchange.source(), key_source::none);
}

TEST_F(api_test, a_key_is_named_when_it_is_refused_for_its_limits) {
    auto const key = at.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}});
    at.exhaust();
    at.ask_bare("GET /api/v1/users", {}, {bearer(key)});
    EXPECT_EQ(at.exchange.key_id(), at.last_key());
    auto const off = at.add_key({"*"}, {.expires_at = 1});
    at.ask_bare("GET /api/v1/users", {}, {bearer(off)});
    EXPECT_EQ(at.exchange.key_id(), at.last_key());
}

}  // namespace
}  // namespace latchkey::api
