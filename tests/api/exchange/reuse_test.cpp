// One exchange serves all requests of a connection: nothing of a request may be left for the next
// one. Each kind of request follows each other kind, on the same exchange and on a fresh one, in
// two services that are otherwise in the same state; the answers and what the access log reads of
// them are equal.
#include <functional>
#include <memory>

#include "../harness.hpp"
#include "api/frame/route.hpp"
#include "base/time_units.hpp"
#include "tests/auth/token_signer.hpp"

namespace latchkey::api {
namespace {

using base::problem;

std::int64_t fixed_wall() {
    return 1'900'000'000'000;
}

// A service, and the credentials that its requests take.
struct site {
    site() {
        service.now = {.mono = base::second, .wall = fixed_wall(), .clock = fixed_wall()};
        service.settings.trusted_proxies = {*model::cidr::parse("10.0.0.0/8")};
        service.settings.deprecations.push_back(
            {.target = find_row("GET", "/api/v1/posts"), .date = "@1700000000"});
        service.accept_tokens_of(signer);
        service.add_bearer(signer, "anna", {"users:read"});
        service.add_user();
        narrow = service.add_key({"usage:read"});
        limited = service.add_key({"*"}, {.rate_limits = {{"minute", 1'000'000, 60, 0}}});
        exhausted = service.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}});
        service.exhaust();
        expired = service.add_key({"*"}, {.expires_at = service.now.wall - 1, .rate_limits = {}});
        auto const field =
            service.request_anonymous("POST /api/v1/session", {}, {bearer(service.key)})
                .field("Set-Cookie");
        cookie = "Cookie: " + field.substr(0, field.find(';'));
        token = signer.sign(R"("sub":"anna","exp":4000000000)");
    }
    reply from(std::string_view proxy, std::string_view line, lines const& fields) {
        auto const peer = std::exchange(
            service.peer, {.tls = true, .client = model::address::parse(std::string(proxy))});
        auto answer = service.request(line, {}, fields);
        service.peer = peer;
        return answer;
    }
    reply in_clear_text(std::string_view line) {
        service.peer.tls = false;
        auto answer = service.request(line);
        service.peer.tls = true;
        return answer;
    }
    reply at_a_node(std::string_view line, lines const& fields, problem outcome) {
        service.services().is_node = true;
        if (outcome != problem::none) service.next_outcome.emplace().problem = outcome;
        auto answer = service.request(line, {}, fields);
        service.services().is_node = false;
        service.next_outcome.reset();
        return answer;
    }

    auth::token_signer signer{"1", "https://id.example.com"};
    api_fixture service{fixed_wall};
    std::string narrow, limited, exhausted, expired, cookie, token;
};

struct kind {
    char const* name;
    std::function<reply(site&)> send;
    bool is_random = false;  // the answer has a new key, and its digest
};

constexpr std::string_view ada = R"({"name":"Ada","email":"ada@example.org"})";

std::vector<kind> kinds() {
    auto const keyed = [](char const* name, std::string line, std::string body = {},
                          lines fields = {}) {
        return kind{name, [=](site& site) { return site.service.request(line, body, fields); }};
    };
    auto const anonymous = [](char const* name, std::string line, std::string body = {},
                              lines fields = {}) {
        return kind{name,
                    [=](site& site) { return site.service.request_anonymous(line, body, fields); }};
    };
    auto const other_key = [](char const* name, std::string site::* text) {
        return kind{name, [=](site& site) {
                        return site.service.request_anonymous("GET /api/v1/users", {},
                                                              {bearer(site.*text)});
                    }};
    };
    return {
        keyed("a list", "GET /api/v1/users"),
        keyed("a record", "GET /api/v1/users/1"),
        keyed("a record that is not there", "GET /api/v1/users/999999"),
        keyed("HEAD", "HEAD /api/v1/users"),
        keyed("an id that is none", "GET /api/v1/users/x"),
        keyed("a deprecated route", "GET /api/v1/posts"),
        keyed("a path without the prefix", "GET /users/1"),
        keyed("an unknown path", "GET /nothing"),
        keyed("another method", "DELETE /api/v1/users"),
        keyed("OPTIONS", "OPTIONS /api/v1/users"),
        keyed("OPTIONS of all", "OPTIONS *"),
        keyed("nothing that it accepts", "GET /api/v1/users", {}, {"Accept: text/html"}),
        keyed("an unknown expectation", "GET /api/v1/users", {}, {"Expect: a-miracle"}),
        keyed("an unknown parameter", "GET /api/v1/users?nothing=1"),
        keyed("its own id and trace", "GET /api/v1/users/1", {},
              {"X-Request-Id: abcdefgh1",
               "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}),
        keyed("a condition", "GET /api/v1/users/1", {}, {"If-None-Match: *"}),
        keyed("a creation", "POST /api/v1/users", R"({"name":"Ada","email":"same@example.org"})"),
        keyed("a body that is wrong", "POST /api/v1/users", R"({"name":7})"),
        keyed("a coded body", "POST /api/v1/users", std::string(ada), {"Content-Encoding: gzip"}),
        keyed("a body of another type", "POST /api/v1/users", "a=b", {"Content-Type: text/plain"}),
        keyed("a change", "PATCH /api/v1/users/1", R"({"name":"Grace"})", {"If-Match: *"}),
        keyed("a deletion of nothing", "DELETE /api/v1/users/999999"),
        keyed("a repeat", "POST /api/v1/users", std::string(ada), {"Idempotency-Key: again"}),
        keyed("a refusal that is kept", "POST /api/v1/users", R"({"name":7})",
              {"Idempotency-Key: refused"}),
        keyed("an Idempotency-Key that is none", "POST /api/v1/users", std::string(ada),
              {"Idempotency-Key:"}),
        keyed("an event", "POST /api/v1/events/shop", R"({"a":1})", {"webhook-id: msg_1"}),
        keyed("a stream", "GET /api/v1/changes", {}, {"Accept: text/event-stream"}),
        keyed("a verification", "POST /api/v1/keys/verify", R"({"key":"lk_no"})"),
        keyed("a gateway", "GET /auth?limit_status=403", "x", {"Content-Type: text/plain"}),
        keyed("a gateway below its folder", "GET /auth/-/some/path?x=y"),
        anonymous("health", "GET /healthz"),
        anonymous("a page", "GET /problems/not_found"),
        anonymous("no key", "GET /api/v1/users"),
        anonymous("no key, and a body without one", "POST /api/v1/users", std::string(ada)),
        anonymous("an unknown key", "GET /api/v1/users", {}, {bearer(std::string(48, 'a'))}),
        anonymous("two keys", "GET /api/v1/users", {}, {bearer("a"), bearer("b")}),
        anonymous("a session that is none", "GET /api/v1/users", {}, {"Cookie: __Host-latchkey=a"}),
        other_key("a narrow key", &site::narrow),
        other_key("a limited key", &site::limited),
        other_key("an exhausted key", &site::exhausted),
        other_key("an expired key", &site::expired),
        other_key("a token", &site::token),
        {"a key in the query",
         [](site& site) {
             return site.service.request_anonymous("GET /api/v1/users?api_key=" + site.limited);
         }},
        {"a coded key in the query",
         [](site& site) {
             return site.service.request_anonymous("GET /api/v1/users?api_key=%" + [&] {
                 char digits[3];
                 std::snprintf(digits, sizeof digits, "%02X", site.limited.front());
                 return digits + site.limited.substr(1);
             }());
         }},
        {"a key in the body",
         [](site& site) {
             return site.service.request_anonymous(
                 "POST /api/v1/users",
                 R"({"name":"A","email":"same@example.org","api_key":")" + site.limited + "\"}");
         }},
        {"a key in a body in chunks",
         [](site& site) {
             return site.service.send(in_chunks(
                 "POST /api/v1/users", {},
                 R"({"name":"A","email":"same@example.org","api_key":")" + site.limited + "\"}"));
         }},
        {"a body in chunks",
         [](site& site) {
             return site.service.send(
                 in_chunks("PATCH /api/v1/users/1", {bearer(site.service.key)}, R"({"name":"B"})"));
         }},
        {"an empty body in chunks",
         [](site& site) {
             return site.service.send(
                 in_chunks("POST /api/v1/users", {bearer(site.service.key)}, {}));
         }},
        {"a session",
         [](site& site) {
             return site.service.request_anonymous("GET /api/v1/users", {},
                                                   {site.cookie, "Sec-Fetch-Site: same-origin"});
         }},
        {"a session from another page",
         [](site& site) {
             return site.service.request_anonymous("GET /api/v1/users", {},
                                                   {site.cookie, "Sec-Fetch-Site: cross-site"});
         }},
        {"clear text", [](site& site) { return site.in_clear_text("GET /api/v1/users"); }},
        {"a proxy",
         [](site& site) {
             return site.from("10.1.2.3", "GET /api/v1/users",
                              {"X-Forwarded-For: 198.51.100.9", "X-Forwarded-Proto: https"});
         }},
        {"a proxy that says no scheme",
         [](site& site) { return site.from("10.1.2.3", "GET /api/v1/users", {}); }},
        {"a position",
         [](site& site) {
             return site.at_a_node("GET /api/v1/users", {"Consistency-Token: 99999999"},
                                   problem::behind);
         }},
        {"a position that is none",
         [](site& site) {
             return site.at_a_node("GET /api/v1/users", {"Consistency-Token: x"}, problem::none);
         }},
        {"a write that the store refuses",
         [](site& site) {
             site.service.next_outcome.emplace().problem = problem::store_busy;
             return site.service.request("POST /api/v1/users", ada);
         }},
        {"a new key",
         [](site& site) {
             return site.service.request("POST /api/v1/keys",
                                         R"({"name":"k","scopes":["users:read"]})");
         },
         true},
    };
}

// What the connection and the access log read of an exchange.
std::string facts_of(exchange& exchange) {
    auto const& client = exchange.client();
    std::string text;
    for (auto const& fact :
         {std::to_string(exchange.key_id()), std::string(exchange.project()),
          std::string(exchange.route()), std::string(exchange.request_id()),
          std::string(exchange.trace_id()), std::string(exchange.parent_span_id()),
          std::string(name_of(exchange.source())), client ? client->text() : "unknown",
          std::to_string(exchange.resume_reading_at()), std::to_string(exchange.token_wait_time()),
          std::to_string(exchange.body_bytes_max()),
          std::to_string(static_cast<int>(exchange.method()))})
        text += fact + "|";
    for (bool const fact : {exchange.is_trace_sampled(), exchange.handler() == nullptr,
                            exchange.let_in(), exchange.waits(), exchange.ignores_body(),
                            exchange.credential_in_body(), exchange.take_event_stream() != nullptr})
        text += fact ? 'y' : 'n';
    return text;
}

TEST(reuse, leaves_nothing_of_a_request_for_the_next) {
    site reused, fresh;
    auto const all = kinds();
    for (auto const& first : all) {
        reused.service.report_uses();
        fresh.service.report_uses();
        for (auto const& second : all) {
            first.send(reused);
            first.send(fresh);
            auto& exchange = fresh.service.exchange;
            std::destroy_at(&exchange);
            std::construct_at(&exchange);
            auto const answer = second.send(reused), expected = second.send(fresh);
            SCOPED_TRACE(std::string(second.name) + " after " + first.name);
            ASSERT_EQ(answer.status, expected.status);
            if (!second.is_random) {
                ASSERT_EQ(answer.head, expected.head);
                ASSERT_EQ(answer.body, expected.body);
            }
            ASSERT_EQ(facts_of(reused.service.exchange), facts_of(exchange));
            ASSERT_EQ(reused.service.committed, fresh.service.committed);
        }
    }
}

}  // namespace
}  // namespace latchkey::api
