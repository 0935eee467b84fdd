// The routes of the contract (api.md §4 to §7, §13) as a table, and a request for each status of
// each route. The table is written from the contract, not from the code: a route that only one of
// them has fails, and so does a documented status that no request here produces. Codes:
// problem_test.cpp.
#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <set>

#include "../harness.hpp"
#include "api/exchange/openapi.hpp"
#include "api/frame/route.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view no_body = "";

// One line of the contract's tables: its success and its conflict.
struct contract_entry {
    std::string_view line;  // {id}: of an existing record
    int success;
    std::string_view body = no_body;  // of a request that succeeds
    std::function<reply(api_fixture&, std::string const&)> conflict =
        {};  // produces a 409; gets the line
};

std::string const new_user = R"({"name":"Ada","email":"ada@example.com"})";

reply take_email(api_fixture& service, std::string const& line) {
    service.add_user("Grace", "ada@example.com");
    return service.request(line, new_user);
}
// An archived post cannot be published.
reply publish_archived(api_fixture& service, std::string const& line) {
    service.request(line, R"({"user_id":1,"title":"t","body":"","status":"archived"})");
    return service.request(line, R"({"user_id":1,"title":"t","body":"","status":"published"})");
}
// The first key is the only one that can manage keys.
reply on_last_key(api_fixture& service, std::string const& line) {
    return service.request(line.substr(0, line.find("/keys/")) + "/keys/1" +
                               (line.ends_with("/deactivate") ? "/deactivate" : ""),
                           line.starts_with("PATCH") ? R"({"scopes":["users:read"]})" : "");
}
reply on_own_key(api_fixture& service, std::string const& line) {
    return service.request(line);
}
reply twice(api_fixture& service, std::string const& line) {
    service.request(line);
    return service.request(line);
}
reply on_disabled_webhook(api_fixture& service, std::string const& line) {
    service.request("PATCH" + line.substr(4, line.rfind('/') - 4), R"({"enabled":false})");
    return service.request(line, line.ends_with("/replay") ? R"({"sequences":[1]})" : "");
}
reply on_compromised(api_fixture& service, std::string const& line) {
    auto const key = line.substr(0, line.rfind('/'));
    service.request(key + "/deactivate", R"({"reason":"compromised"})");
    return service.request(line);
}

std::vector<contract_entry> const contract{
    {"GET /api/v1/users", 200},
    {"POST /api/v1/users", 201, new_user, take_email},
    {"GET /api/v1/users/{id}", 200},
    {"PUT /api/v1/users/{id}", 200, R"({"name":"Ada","email":"a@example.com"})", take_email},
    {"PATCH /api/v1/users/{id}", 200, R"({"name":"Ada"})", take_email},
    {"DELETE /api/v1/users/{id}", 204},
    {"GET /api/v1/users/{id}/posts", 200},

    {"GET /api/v1/posts", 200},
    {"POST /api/v1/posts", 201, R"({"user_id":1,"title":"t"})"},
    {"GET /api/v1/posts/{id}", 200},
    {"PUT /api/v1/posts/{id}", 200, R"({"user_id":1,"title":"t","body":"","status":"draft"})",
     publish_archived},
    {"PATCH /api/v1/posts/{id}", 200, R"({"title":"t"})", publish_archived},
    {"DELETE /api/v1/posts/{id}", 204},

    {"POST /api/v1/keys", 201, R"({"name":"k"})"},
    {"GET /api/v1/keys", 200},
    {"GET /api/v1/keys/{id}", 200},
    {"PATCH /api/v1/keys/{id}", 200, R"({"name":"k"})", on_last_key},
    {"POST /api/v1/keys/{id}/rotate", 201, no_body, twice},
    {"POST /api/v1/keys/{id}/deactivate", 200, no_body, on_last_key},
    {"POST /api/v1/keys/{id}/reactivate", 200, no_body, on_compromised},
    {"DELETE /api/v1/keys/{id}", 204, no_body, on_last_key},
    {"GET /api/v1/keys/{id}/usage", 200},
    {"GET /api/v1/keys/current", 200},
    {"POST /api/v1/keys/current/deactivate", 200, no_body, on_own_key},
    {"POST /api/v1/keys/verify", 200, R"({"key":"k"})"},
    {"POST /api/v1/introspect", 200, R"({"token":"k"})"},
    {"GET /auth", 200},

    {"POST /api/v1/events/{event_source}", 202, R"({"type":"paid"})"},
    {"GET /api/v1/events", 200},
    {"GET /api/v1/events/sources", 200},
    {"GET /api/v1/events/{id}", 200},
    {"PUT /api/v1/events/{event_source}/secret", 201},
    {"GET /api/v1/events/{event_source}/secret", 200},
    {"DELETE /api/v1/events/{event_source}/secret", 204},

    {"GET /api/v1/changes", 200},

    {"GET /api/v1/webhooks", 200},
    {"POST /api/v1/webhooks", 201, R"({"url":"https://hooks.example.com/"})"},
    {"GET /api/v1/webhooks/{id}", 200},
    {"PATCH /api/v1/webhooks/{id}", 200, R"({"ordered":true})"},
    {"DELETE /api/v1/webhooks/{id}", 204},
    {"POST /api/v1/webhooks/{id}/rotate-secret", 200},
    {"POST /api/v1/webhooks/{id}/enable", 200},
    {"POST /api/v1/webhooks/{id}/test", 202, no_body, on_disabled_webhook},
    {"GET /api/v1/webhooks/{id}/deliveries", 200},
    {"POST /api/v1/webhooks/{id}/replay", 202, R"({"sequences":[1]})", on_disabled_webhook},

    {"GET /api/v1/audit", 200},
    {"GET /api/v1/usage", 200},
    {"GET /api/v1/service", 200},
    {"POST /api/v1/session", 200},
    {"DELETE /api/v1/session", 204},
    {"DELETE /api/v1/sessions", 204},
    {"GET /healthz", 200},
    {"GET /.well-known/oauth-protected-resource", 200},
    {"GET /openapi.json", 200},
    {"GET /docs", 200},
    {"GET /docs/{guide}", 200},
    {"GET /docs/clients/{package}", 200},
    {"GET /problems", 200},
    {"GET /problems/{code}", 200},

    {"GET /", 302},
    {"GET /favicon.ico", 200},
    {"GET /assets/{asset}", 200},
    {"GET /console", 200},
};

// Statuses of another layer, and the tests that cover them.
std::map<int, std::string_view> const elsewhere{
    {408, "tests/e2e/http/http.test.mjs: the connection's clock"},
};

std::string lower(std::string_view text) {
    std::string result;
    for (char const c : text) result.push_back(static_cast<char>(c | 0x20));
    return result;
}

route const& route_of(contract_entry const& entry) {
    auto const space = entry.line.find(' ');
    for (auto const& each : routes())
        if (http::name_of(each.method) == entry.line.substr(0, space) &&
            each.pattern == entry.line.substr(space + 1))
            return each;
    throw std::logic_error("no route for " + std::string(entry.line));
}

// A service with a record for every id, and the line with that id.
struct scenario {
    explicit scenario(contract_entry const& source) : entry(source), route(route_of(source)) {
        auto const user = service.add_user();
        auto const post = service.add_post(user);
        service.add_key({"users:read"});
        line = source.line;
        if (line.starts_with("GET /api/v1/events/{id}"))
            replace("{id}", service.request("POST /api/v1/events/shop", "{}").id());
        if (line.find("/webhooks/{id}") != line.npos)
            replace(
                "{id}",
                service.request("POST /api/v1/webhooks", R"({"url":"https://hooks.example.com/"})")
                    .id());
        replace("{id}", line.find("/keys/") != line.npos    ? service.last_key()
                        : line.find("/posts/") != line.npos ? post
                                                            : user);
        line = public_path(line);
        if (line.find("/secret") != line.npos)
            service.request("PUT /api/v1/events/shop/secret", "{}");
        replace("{event_source}", "shop");
    }
    void replace(std::string_view placeholder, std::string_view text) {
        if (auto const i = line.find(placeholder); i != line.npos)
            line.replace(i, placeholder.size(), text);
    }
    void replace(std::string_view placeholder, model::id id) {
        replace(placeholder, std::to_string(id));
    }
    reply request(std::string_view body, lines fields = {}) {
        return std::holds_alternative<public_route>(route.run)
                   ? service.request_anonymous(line, body, fields)
                   : service.request(line, body, std::move(fields));
    }

    api_fixture service;
    contract_entry const& entry;
    api::route const& route;
    std::string line;
};

reply with_key(scenario& test, model::key record,
               std::vector<std::string_view> const& scopes = {"*"}) {
    auto const key = test.service.add_key(scopes, std::move(record));
    return test.service.request_anonymous(test.line, test.entry.body, {bearer(key)});
}

reply over_the_limit(scenario& test) {
    auto const key = test.service.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}});
    test.service.exhaust();
    return test.service.request_anonymous(test.line, test.entry.body, {bearer(key)});
}

reply failing(scenario& test, base::problem problem);

reply missing(scenario& test) {
    // Where changes are not recorded there are none, and no webhook can be made.
    test.service.settings.records_changes = test.entry.line != "GET /api/v1/changes";
    if (test.entry.line == "POST /api/v1/webhooks") return failing(test, base::problem::not_found);
    if (test.entry.line.find("{code}") != std::string_view::npos)
        return test.service.request_anonymous("GET /problems/nothing");
    test.line = test.entry.line;
    test.replace("{id}", 999'999);
    bool const reads = test.line.starts_with("GET") || test.line.starts_with("DELETE");
    test.replace("{event_source}", reads ? "other" : "NONE");
    return test.request(test.entry.body);
}

// A failure of the store for a write, else one that the caller of the exchange reports (overload, a
// body that could not be read).
reply failing(scenario& test, base::problem problem) {
    if (!std::holds_alternative<write>(test.route.run)) {
        http::response answer;
        test.request(test.entry.body);
        test.service.exchange.refuse_and_close(problem, answer);
        return {answer.status, "\r\n" + std::string(answer.field_lines()), answer.body};
    }
    test.service.next_outcome = domain::outcome{.problem = problem};
    return test.request(test.entry.body);
}

// A request that produces the status, for any operation.
reply ask_for(int status, scenario& test) {
    auto const& body = test.entry.body;
    switch (status) {
        case 400:
            if (auto const* const page = std::get_if<public_route>(&test.route.run);
                page != nullptr && page->ignores_query())
                return test.request(body, {"Host: two.example"});
            test.line += "?nobody_knows=1";
            return test.request(body);
        case 401:
            return test.service.request_anonymous(test.line);
        case 403:
            if (!std::holds_alternative<public_route>(test.route.run))
                return with_key(test, {.expires_at = test.service.now.wall, .rate_limits = {}});
            test.service.peer.tls = false;
            return test.request(body);
        case 404:
            return missing(test);
        case 406:
            return test.request(body, {"Accept: text/html"});
        case 409:
            // Operations without a conflict of their own: an earlier request is still running.
            return test.entry.conflict ? test.entry.conflict(test.service, test.line)
                                       : failing(test, base::problem::idempotency_in_progress);
        case 410:
            return failing(test, base::problem::changes_expired);
        case 413:
            test.service.settings.body_bytes_max = 1000;
            return test.request(std::string(1001, ' '));
        case 414:
            test.line += "?" + std::string(9000, 'a');
            return test.request(body);
        case 415:
            return test.request("{}", {"Content-Type: text/plain"});
        case 417:
            return test.request(body, {"Expect: a-miracle"});
        case 422:
            return test.request(
                test.line.starts_with("POST /api/v1/events") ? "[]" : R"({"nobody knows":1})");
        case 304:
            return test.request(body, {"If-None-Match: *"});
        case 412:
            return test.request(body, {"If-Match: \"of another version\""});
        case 428:
            test.service.settings.require_if_match = true;
            return test.request(body);
        case 429:
            return over_the_limit(test);
        case 431:
            return test.request(body, {"X-Note: " + std::string(17'000, 'a')});
        case 500:
            return failing(test, base::problem::internal_error);
        case 503:
            return failing(test, base::problem::overloaded);
        case 507:
            return failing(test, base::problem::storage_full);
        default:
            // With a second key, so that the first may deactivate itself.
            return std::holds_alternative<public_route>(test.route.run)
                       ? test.request(body)
                       : with_key(test, {.rate_limits = {}});
    }
}

TEST(contract, has_the_routes_of_the_service) {
    std::set<std::string> expected, actual;
    for (auto const& each : contract) expected.emplace(each.line);
    for (auto const& each : routes())
        actual.insert(std::string(http::name_of(each.method)) + " " + std::string(each.pattern));
    EXPECT_EQ(expected, actual);
}

TEST(contract, every_status_of_every_operation_is_produced_by_a_request) {
    auto const document = describe_interface(settings{});
    auto const& paths = document.at("paths").as_object();
    for (auto const& each : contract) {
        auto const& route = route_of(each);
        auto const* const page = std::get_if<public_route>(&route.run);
        if (page != nullptr && page->is_part) continue;  // it is not described
        // One path is written without the prefix, below a server that has it.
        constexpr std::string_view prefix = "/api/v1";
        auto const path =
            paths.contains(route.pattern) ? route.pattern : route.pattern.substr(prefix.size());
        auto const& answers =
            paths.at(path).at(lower(http::name_of(route.method))).at("responses").as_object();
        EXPECT_TRUE(answers.contains(std::to_string(each.success))) << each.line;
        for (auto const& [text, placeholder] : answers) {
            auto const status = std::stoi(std::string(text));
            if (elsewhere.contains(status)) continue;
            SCOPED_TRACE(std::string(each.line) + " → " + std::string(text));
            scenario test(each);
            auto const result = ask_for(status, test);
            EXPECT_EQ(result.status, status) << result.body;
        }
    }
}

}  // namespace
}  // namespace latchkey::api
