// Every code of the contract (api.md §11): a request that produces it, and its document.
#include <algorithm>
#include <functional>
#include <set>

#include "../harness.hpp"
#include "api/frame/problem_document.hpp"

namespace latchkey::api {
namespace {

using base::problem;

constexpr std::string_view ada_text = R"({"name":"Ada","email":"ada@example.com"})";

struct problem_case {
    problem expected;
    int status;
    std::function<reply(api_fixture&)> request;
};

reply with_key_of(api_fixture& service, model::key record) {
    record.rate_limits.clear();
    return service.request_anonymous("GET /api/v1/users", {},
                                     {bearer(service.add_key({"*"}, std::move(record)))});
}

reply with_outcome(api_fixture& service, problem code) {
    service.next_outcome = domain::outcome{.problem = code};
    return service.request("POST /api/v1/users", ada_text);
}

// The codes of this layer.
std::vector<problem_case> const cases{
    {problem::invalid_json, 400,
     [](auto& service) { return service.request("POST /api/v1/users", "{"); }},
    {problem::invalid_parameter, 400,
     [](auto& service) { return service.request("GET /api/v1/users?page=0"); }},
    {problem::conflicting_parameters, 400,
     [](auto& service) { return service.request("GET /api/v1/posts?author=1&user_id=2"); }},
    {problem::invalid_cursor, 400,
     [](auto& service) { return service.request("GET /api/v1/posts?cursor=x"); }},
    {problem::duplicate_credentials, 400,
     [](auto& service) { return service.request("GET /api/v1/users", {}, {bearer("x")}); }},
    {problem::idempotency_key_invalid, 400,
     [](auto& service) {
         return service.request("POST /api/v1/users", ada_text, {"Idempotency-Key: a b"});
     }},
    {problem::key_missing, 401,
     [](auto& service) { return service.request_anonymous("GET /api/v1/users"); }},
    {problem::key_invalid, 401,
     [](auto& service) {
         return service.request_anonymous("GET /api/v1/users", {}, {bearer(auth::unknown_key())});
     }},
    {problem::key_deactivated, 403,
     [](auto& service) {
         return with_key_of(
             service, {.deactivated_at = 1, .deactivation_reason = model::deactivation::manual});
     }},
    {problem::key_expired, 403,
     [](auto& service) { return with_key_of(service, {.expires_at = service.now.wall}); }},
    {problem::key_not_yet_active, 403,
     [](auto& service) { return with_key_of(service, {.not_before = service.now.wall + 1}); }},
    {problem::ip_not_allowed, 403,
     [](auto& service) {
         return with_key_of(service, {.ip_allowlist = {*model::cidr::parse("198.51.100.0/24")}});
     }},
    {problem::insufficient_scope, 403,
     [](auto& service) {
         return service.request_anonymous("GET /api/v1/users", {},
                                          {bearer(service.add_key({"posts:read"}))});
     }},
    {problem::https_required, 403,
     [](auto& service) {
         service.peer.tls = false;
         return service.request("GET /api/v1/users");
     }},
    {problem::not_found, 404, [](auto& service) { return service.request("GET /api/v1/users/1"); }},
    {problem::route_not_found, 404,
     [](auto& service) { return service.request("GET /api/v1/nothing"); }},
    {problem::method_not_allowed, 405,
     [](auto& service) { return service.request("DELETE /api/v1/users"); }},
    {problem::not_acceptable, 406,
     [](auto& service) { return service.request("GET /api/v1/users", {}, {"Accept: text/html"}); }},
    {problem::email_taken, 409,
     [](auto& service) {
         service.request("POST /api/v1/users", ada_text);
         return service.request("POST /api/v1/users", ada_text);
     }},
    {problem::invalid_state_transition, 409,
     [](auto& service) {
         auto const id = service.add_post(service.add_user(), model::post_status::archived);
         return service.request("PATCH /api/v1/posts/" + std::to_string(id),
                                R"({"status":"published"})");
     }},
    {problem::idempotency_key_reused, 422,
     [](auto& service) {
         service.request("POST /api/v1/users", ada_text, {"Idempotency-Key: k"});
         return service.request("POST /api/v1/users", "{}", {"Idempotency-Key: k"});
     }},
    {problem::body_too_large, 413,
     [](auto& service) {
         return service.request_anonymous("POST /api/v1/users", std::string(128 * 1024 + 1, ' '));
     }},
    {problem::unsupported_media_type, 415,
     [](auto& service) {
         return service.request("POST /api/v1/users", ada_text, {"Content-Type: text/plain"});
     }},
    {problem::expectation_failed, 417,
     [](auto& service) { return service.request("GET /api/v1/users", {}, {"Expect: a-miracle"}); }},
    {problem::validation_failed, 422,
     [](auto& service) { return service.request("POST /api/v1/users", "{}"); }},
    {problem::rate_limited, 429,
     [](auto& service) {
         auto const key = service.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}});
         service.exhaust();
         return service.request_anonymous("GET /api/v1/users", {}, {bearer(key)});
     }},
    {problem::webhook_disabled, 409,
     [](auto& service) {
         std::string const webhook = "/api/v1/webhooks";
         service.request("POST " + webhook, R"({"url":"https://hooks.example.com/"})");
         service.request("PATCH " + webhook + "/1", R"({"enabled":false})");
         return service.request("POST " + webhook + "/1/test");
     }},
    // The codes of the store and the server.
    {problem::changes_expired, 410,
     [](auto& service) { return with_outcome(service, problem::changes_expired); }},
    {problem::internal_error, 500,
     [](auto& service) { return with_outcome(service, problem::internal_error); }},
    {problem::overloaded, 503,
     [](auto& service) { return with_outcome(service, problem::overloaded); }},
    {problem::store_busy, 503,
     [](auto& service) { return with_outcome(service, problem::store_busy); }},
    {problem::behind, 503, [](auto& service) { return with_outcome(service, problem::behind); }},
    {problem::storage_full, 507,
     [](auto& service) { return with_outcome(service, problem::storage_full); }},
    // The codes of the parser, without a request.
    {problem::malformed_request, 400,
     [](auto& service) {
         return service.send("GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n");
     }},
    {problem::uri_too_long, 414,
     [](auto& service) { return service.request("GET /" + std::string(9000, 'a')); }},
    {problem::headers_too_large, 431,
     [](auto& service) { return service.request("GET /", {}, {"X: " + std::string(17000, 'a')}); }},
    {problem::method_not_implemented, 501,
     [](auto& service) { return service.request(std::string(33, 'M') + " /"); }},
    {problem::http_version_not_supported, 505,
     [](auto& service) { return service.send("GET / HTTP/2.0\r\nHost: a\r\n\r\n"); }},
};

// Codes that other tests produce.
std::set<problem> const elsewhere{
    problem::request_timeout,         // the connection's clock
    problem::draining,                // the server's end
    problem::too_many_auth_failures,  // auth_failures_test.cpp
    problem::signature_invalid,       // events
    problem::session_invalid,         // session_test.cpp
    problem::cross_site_request,
    problem::idempotency_in_progress,  // idempotency_test.cpp
    problem::precondition_failed,      // If-Match
    problem::precondition_required,
    problem::rotation_in_progress,  // administration of keys
    problem::key_not_active,
    problem::key_not_reactivatable,
    problem::last_admin_key,
    problem::subject_taken,
    problem::key_not_rotatable,
    problem::token_expired,  // token_test.cpp
    problem::token_invalid,
    problem::token_not_yet_valid,
};

TEST(problem_codes, are_each_produced_by_a_request) {
    for (auto const& each : cases) {
        SCOPED_TRACE(base::describe(each.expected).name);
        api_fixture service;
        auto const response = each.request(service);
        EXPECT_EQ(response.code(), base::describe(each.expected).name);
        EXPECT_EQ(response.status, each.status);
    }
}

TEST(problem_codes, are_complete) {
    auto codes = elsewhere;
    for (auto const& each : cases)
        EXPECT_TRUE(codes.insert(each.expected).second) << base::describe(each.expected).name;
    for (auto const& entry : base::problems)
        if (entry.code != problem::none) EXPECT_TRUE(codes.contains(entry.code)) << entry.name;
}

// A sentence of each tells what to do.
TEST(problem_codes, tell_what_to_do) {
    constexpr std::string_view orders[] = {"Accept", "Ask",    "Begin",  "Check",     "Correct",
                                           "Create", "Delete", "Enable", "Leave",     "Log",
                                           "Read",   "Rotate", "Send",   "Sign",      "Speak",
                                           "Try",    "Use",    "Wait",   "Reactivate"};
    for (auto const& entry : base::problems) {
        if (entry.code == problem::none) continue;
        std::string const text(advice_for(entry.code));
        bool const orders_something = std::ranges::any_of(orders, [&](std::string_view order) {
            auto const word = std::string(order) + " ";
            return text.starts_with(word) || text.find(". " + word) != text.npos ||
                   text.find(": " + word) != text.npos;
        });
        EXPECT_TRUE(orders_something) << entry.name << ": " << text;
    }
}

// The detail of a response tells it too, unless it is the advice of the code.
TEST_F(api_test, frequent_refusals_tell_what_to_do) {
    service.request("POST /api/v1/users", ada_text);
    EXPECT_NE(service.request("POST /api/v1/users", ada_text).at("/detail").find("Use another"),
              std::string::npos);
    service.http_limits.body_bytes_max = 100;
    for (auto const& response : {service.request("POST /api/v1/users", std::string(200, ' ')),
                                 service.send(in_chunks("POST /api/v1/users", {bearer(service.key)},
                                                        std::string(200, ' ')))}) {
        EXPECT_EQ(response.code(), "body_too_large");
        EXPECT_NE(response.at("/detail").find("Send less"), std::string::npos) << response.body;
    }
    EXPECT_NE(with_outcome(service, problem::storage_full).at("/detail").find("Delete what"),
              std::string::npos);
}

// Every refusal has a document of the same shape (the fixture checks every reply).
TEST_F(api_test, a_refusal_by_the_caller_is_a_document_of_this_request) {
    service.settings.base_url = "https://api.example.com";
    service.request("GET /api/v1/users", {}, {"X-Request-Id: from-the-client"});
    for (auto const& entry : base::problems) {
        if (entry.code == problem::none) continue;
        http::response answer;
        service.exchange.refuse_and_close(entry.code, answer);
        reply const response{answer.status, "\r\n" + std::string(answer.field_lines()),
                             answer.body};
        EXPECT_TRUE(answer.close);
        EXPECT_EQ(answer.code, entry.code);
        EXPECT_EQ(response.status, entry.status);
        EXPECT_EQ(response.code(), entry.name);
        EXPECT_EQ(response.at("/type"),
                  "\"https://api.example.com/problems/" + std::string(entry.name) + '"');
        EXPECT_EQ(response.at("/title"), '"' + std::string(entry.title) + '"');
        EXPECT_EQ(response.at("/instance"), "\"urn:request:from-the-client\"");
        EXPECT_GT(response.at("/detail").size(), 2u) << "no advice for " << entry.name;
        bool const waits = entry.code == problem::overloaded || entry.code == problem::draining ||
                           entry.code == problem::store_busy || entry.code == problem::behind ||
                           entry.code == problem::rate_limited ||
                           entry.code == problem::too_many_auth_failures;
        EXPECT_EQ(!response.field("Retry-After").empty(), waits) << entry.name;
    }
}

TEST_F(api_test, members_of_a_document_are_those_of_the_contract) {
    auto const names = [](reply const& response) {
        std::set<std::string> all;
        auto const whole = response.json();
        for (auto const& member : whole.as_object()) all.emplace(member.key());
        return all;
    };
    std::set<std::string> const always{"type", "title",    "status",    "detail",
                                       "code", "instance", "request_id"};
    EXPECT_EQ(names(service.request("GET /api/v1/users/1")), always);
    auto with_errors = always;
    with_errors.insert("errors");
    EXPECT_EQ(names(service.request("POST /api/v1/users", "{}")), with_errors);
    EXPECT_EQ(names(service.request("GET /api/v1/users?nope=1")), with_errors);
}

TEST_F(api_test, at_most_50_faults_are_named) {
    std::string body = "{";
    for (int i = 0; i < 60; ++i) body += "\"x" + std::to_string(i) + "\":1,";
    body.back() = '}';
    for (auto const* const line : {"POST /api/v1/users", "POST /api/v1/posts"}) {
        auto const response = service.request(line, body);
        EXPECT_EQ(response.code(), "validation_failed");
        EXPECT_EQ(response.faults().size(), 50u);
    }
}

TEST_F(api_test, problem_pages_explain_every_code_without_a_key) {
    for (auto const& entry : base::problems) {
        if (entry.code == problem::none) continue;
        auto const page = service.request_anonymous("GET /problems/" + std::string(entry.name), {},
                                                    {"Accept: text/html"});
        EXPECT_EQ(page.status, 200) << entry.name;
        EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
        EXPECT_NE(page.body.find(entry.title), std::string::npos);
        EXPECT_NE(page.body.find(std::to_string(entry.status)), std::string::npos);
        EXPECT_NE(page.body.find(advice_for(entry.code).substr(0, 20)), std::string::npos);
        EXPECT_NE(page.body.find("<pre"), page.body.rfind("<pre")) << "no example and no remedy";
        EXPECT_EQ(page.field("Vary"), "Accept-Encoding");
    }
    EXPECT_EQ(service.request_anonymous("GET /problems/none").code(), "route_not_found");
    EXPECT_EQ(service.request_anonymous("GET /problems/nothing").code(), "route_not_found");
    EXPECT_EQ(service.request_anonymous("GET /problems/").code(), "route_not_found");
}

}  // namespace
}  // namespace latchkey::api
