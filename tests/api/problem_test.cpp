// Every code of the contract (API §11): what leads to it, and what its document looks like.
#include <functional>
#include <set>

#include "harness.hpp"

namespace latchkey::api {
namespace {

using base::problem;

constexpr std::string_view user_text = R"({"name":"Ada","email":"ada@example.com"})";

struct problem_case {
    problem expected;
    int status;
    std::function<reply(station&)> ask;
};

reply with_key_of(station& at, model::key record) {
    record.rate_limits.clear();
    return at.ask_bare("GET /api/v1/users", {}, {bearer(at.add_key({"*"}, std::move(record)))});
}

reply with_outcome(station& at, problem code) {
    at.outcome_instead = store::outcome{.problem = code};
    return at.ask("POST /api/v1/users", user_text);
}

// What the requests of this layer can come to.
std::vector<problem_case> const cases{
    {problem::invalid_json, 400, [](auto& at) { return at.ask("POST /api/v1/users", "{"); }},
    {problem::invalid_parameter, 400, [](auto& at) { return at.ask("GET /api/v1/users?page=0"); }},
    {problem::conflicting_parameters, 400,
     [](auto& at) { return at.ask("GET /api/v1/posts?author=1&user_id=2"); }},
    {problem::invalid_cursor, 400, [](auto& at) { return at.ask("GET /api/v1/posts?cursor=x"); }},
    {problem::duplicate_credentials, 400,
     [](auto& at) { return at.ask("GET /api/v1/users", {}, {bearer("x")}); }},
    {problem::idempotency_key_invalid, 400,
     [](auto& at) { return at.ask("POST /api/v1/users", user_text, {"Idempotency-Key: a b"}); }},
    {problem::key_missing, 401, [](auto& at) { return at.ask_bare("GET /api/v1/users"); }},
    {problem::key_invalid, 401,
     [](auto& at) { return at.ask_bare("GET /api/v1/users", {}, {bearer(auth::unknown_key())}); }},
    {problem::key_deactivated, 403,
     [](auto& at) {
         return with_key_of(
             at, {.deactivated_at = 1, .deactivation_reason = model::deactivation::manual});
     }},
    {problem::key_expired, 403,
     [](auto& at) { return with_key_of(at, {.expires_at = at.now.wall}); }},
    {problem::key_not_yet_active, 403,
     [](auto& at) { return with_key_of(at, {.not_before = at.now.wall + 1}); }},
    {problem::ip_not_allowed, 403,
     [](auto& at) {
         return with_key_of(at, {.ip_allowlist = {*model::cidr::parse("198.51.100.0/24")}});
     }},
    {problem::insufficient_scope, 403,
     [](auto& at) {
         return at.ask_bare("GET /api/v1/users", {}, {bearer(at.add_key({"posts:read"}))});
     }},
    {problem::https_required, 403,
     [](auto& at) {
         at.from.tls = false;
         return at.ask("GET /api/v1/users");
     }},
    {problem::not_found, 404, [](auto& at) { return at.ask("GET /api/v1/users/1"); }},
    {problem::route_not_found, 404, [](auto& at) { return at.ask("GET /api/v1/nothing"); }},
    {problem::method_not_allowed, 405, [](auto& at) { return at.ask("DELETE /api/v1/users"); }},
    {problem::not_acceptable, 406,
     [](auto& at) { return at.ask("GET /api/v1/users", {}, {"Accept: text/html"}); }},
    {problem::email_taken, 409,
     [](auto& at) {
         at.ask("POST /api/v1/users", user_text);
         return at.ask("POST /api/v1/users", user_text);
     }},
    {problem::invalid_state_transition, 409,
     [](auto& at) {
         auto const id = at.add_post(at.add_user(), model::post_status::archived);
         return at.ask("PATCH /api/v1/posts/" + std::to_string(id), R"({"status":"published"})");
     }},
    {problem::idempotency_key_reused, 422,
     [](auto& at) {
         at.ask("POST /api/v1/users", user_text, {"Idempotency-Key: k"});
         return at.ask("POST /api/v1/users", "{}", {"Idempotency-Key: k"});
     }},
    {problem::body_too_large, 413,
     [](auto& at) { return at.ask_bare("POST /api/v1/users", std::string(128 * 1024 + 1, ' ')); }},
    {problem::unsupported_media_type, 415,
     [](auto& at) {
         return at.ask("POST /api/v1/users", user_text, {"Content-Type: text/plain"});
     }},
    {problem::expectation_failed, 417,
     [](auto& at) { return at.ask("GET /api/v1/users", {}, {"Expect: a-miracle"}); }},
    {problem::validation_failed, 422, [](auto& at) { return at.ask("POST /api/v1/users", "{}"); }},
    {problem::rate_limited, 429,
     [](auto& at) {
         auto const key = at.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}});
         at.exhaust();
         return at.ask_bare("GET /api/v1/users", {}, {bearer(key)});
     }},
    // What only the store or the server can run into.
    {problem::internal_error, 500,
     [](auto& at) { return with_outcome(at, problem::internal_error); }},
    {problem::overloaded, 503, [](auto& at) { return with_outcome(at, problem::overloaded); }},
    {problem::storage_full, 507, [](auto& at) { return with_outcome(at, problem::storage_full); }},
    // What the parser refuses, which never becomes a request.
    {problem::malformed_request, 400,
     [](auto& at) { return at.send("GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n"); }},
    {problem::uri_too_long, 414, [](auto& at) { return at.ask("GET /" + std::string(9000, 'a')); }},
    {problem::headers_too_large, 431,
     [](auto& at) { return at.ask("GET /", {}, {"X: " + std::string(17000, 'a')}); }},
    {problem::method_not_implemented, 501, [](auto& at) { return at.ask("BREW /"); }},
    {problem::http_version_not_supported, 505,
     [](auto& at) { return at.send("GET / HTTP/2.0\r\nHost: a\r\n\r\n"); }},
};

// Nothing leads to these yet, or nothing here: each leaves the list when its feature comes.
std::set<problem> const elsewhere{
    problem::request_timeout,          // the connection's clock
    problem::draining,                 // the server's end
    problem::too_many_auth_failures,   // failures_test.cpp
    problem::signature_invalid,        // events
    problem::idempotency_in_progress,  // idempotency_test.cpp
    problem::precondition_failed,      // If-Match
    problem::precondition_required,
    problem::rotation_in_progress,  // administration of keys
    problem::key_not_active,
    problem::key_not_reactivatable,
    problem::last_admin_key,
};

TEST(problem_codes, are_each_the_answer_of_some_request) {
    for (auto const& each : cases) {
        SCOPED_TRACE(base::describe(each.expected).name);
        station at;
        auto const made = each.ask(at);
        EXPECT_EQ(made.code(), base::describe(each.expected).name);
        EXPECT_EQ(made.status, each.status);
    }
}

TEST(problem_codes, are_complete) {
    auto seen = elsewhere;
    for (auto const& each : cases)
        EXPECT_TRUE(seen.insert(each.expected).second) << base::describe(each.expected).name;
    for (auto const& entry : base::problems)
        if (entry.code != problem::none) EXPECT_TRUE(seen.contains(entry.code)) << entry.name;
}

// Whoever refuses, the document is one of the same shape (the station checks every reply).
TEST_F(api_test, a_refusal_from_outside_is_a_document_of_this_request) {
    at.rules.base_url = "https://api.example.com";
    at.ask("GET /api/v1/users", {}, {"X-Request-Id: from-the-client"});
    for (auto const& entry : base::problems) {
        if (entry.code == problem::none) continue;
        http::response answer;
        at.exchange.refuse(at.desk(), entry.code, "", answer);
        reply const made{answer.status, "\r\n" + std::string(answer.field_lines()), answer.body};
        EXPECT_TRUE(answer.close);
        EXPECT_EQ(answer.code, entry.code);
        EXPECT_EQ(made.status, entry.status);
        EXPECT_EQ(made.code(), entry.name);
        EXPECT_EQ(made.at("/type"),
                  "\"https://api.example.com/problems/" + std::string(entry.name) + '"');
        EXPECT_EQ(made.at("/title"), '"' + std::string(entry.title) + '"');
        EXPECT_EQ(made.at("/instance"), "\"urn:request:from-the-client\"");
        EXPECT_GT(made.at("/detail").size(), 2u) << "no advice for " << entry.name;
        bool const waits = entry.code == problem::overloaded || entry.code == problem::draining ||
                           entry.code == problem::rate_limited ||
                           entry.code == problem::too_many_auth_failures;
        EXPECT_EQ(!made.field("Retry-After").empty(), waits) << entry.name;
    }
}

TEST_F(api_test, members_of_a_document_are_those_of_the_contract) {
    auto const names = [](reply const& made) {
        std::set<std::string> all;
        auto const whole = made.json();
        for (auto const& member : whole.as_object()) all.emplace(member.key());
        return all;
    };
    std::set<std::string> const always{"type", "title",    "status",    "detail",
                                       "code", "instance", "request_id"};
    EXPECT_EQ(names(at.ask("GET /api/v1/users/1")), always);
    auto with_errors = always;
    with_errors.insert("errors");
    EXPECT_EQ(names(at.ask("POST /api/v1/users", "{}")), with_errors);
    EXPECT_EQ(names(at.ask("GET /api/v1/users?nope=1")), with_errors);
}

TEST_F(api_test, at_most_50_faults_are_named) {
    std::string body = "{";
    for (int i = 0; i < 60; ++i) body += "\"x" + std::to_string(i) + "\":1,";
    body.back() = '}';
    for (auto const* const line : {"POST /api/v1/users", "POST /api/v1/posts"}) {
        auto const made = at.ask(line, body);
        EXPECT_EQ(made.code(), "validation_failed");
        EXPECT_EQ(made.faults().size(), 50u);
    }
}

TEST_F(api_test, problem_pages_explain_every_code_without_a_key) {
    for (auto const& entry : base::problems) {
        if (entry.code == problem::none) continue;
        auto const page =
            at.ask_bare("GET /problems/" + std::string(entry.name), {}, {"Accept: text/html"});
        EXPECT_EQ(page.status, 200) << entry.name;
        EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
        EXPECT_NE(page.body.find(entry.title), std::string::npos);
        EXPECT_NE(page.body.find(std::to_string(entry.status)), std::string::npos);
        EXPECT_NE(page.body.find("<p>"), page.body.rfind("<p>")) << "no advice";
        EXPECT_EQ(page.field("Vary"), "");
    }
    EXPECT_EQ(at.ask_bare("GET /problems/none").code(), "route_not_found");
    EXPECT_EQ(at.ask_bare("GET /problems/nothing").code(), "route_not_found");
    EXPECT_EQ(at.ask_bare("GET /problems/").code(), "key_missing");
}

}  // namespace
}  // namespace latchkey::api
