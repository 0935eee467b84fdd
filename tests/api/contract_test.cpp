// The routes of the contract (API §4 to §7, §13) as a table, and a case for each status that any of
// them can answer. The table is written from the contract, not from the code: a route that one has
// and the other lacks fails, and so does a status that the description of an operation names and
// that no case here comes to. The codes are in problem_test.cpp.
#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <set>

#include "api/openapi.hpp"
#include "api/route.hpp"
#include "harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view no_body = "";

// One line of the contract's tables: how it succeeds, and what it can conflict with.
struct row {
    std::string_view line;  // {id}: of something that is there
    int success;
    std::string_view body = no_body;  // that succeeds
    std::function<reply(station&, std::string const&)> conflict =
        {};  // comes to 409; gets the line
};

std::string const new_user = R"({"name":"Ada","email":"ada@example.com"})";

reply take_email(station& at, std::string const& line) {
    at.add_user("Grace", "ada@example.com");
    return at.ask(line, new_user);
}
// An archived post cannot be published.
reply publish_archived(station& at, std::string const& line) {
    at.ask(line, R"({"user_id":1,"title":"t","body":"","status":"archived"})");
    return at.ask(line, R"({"user_id":1,"title":"t","body":"","status":"published"})");
}
// The first key is the only one that manages keys.
reply on_last_key(station& at, std::string const& line) {
    return at.ask(line.substr(0, line.find("/keys/")) + "/keys/1" +
                      (line.ends_with("/deactivate") ? "/deactivate" : ""),
                  line.starts_with("PATCH") ? R"({"scopes":["users:read"]})" : "");
}
reply on_own_key(station& at, std::string const& line) {
    return at.ask(line);
}
reply twice(station& at, std::string const& line) {
    at.ask(line);
    return at.ask(line);
}
reply on_compromised(station& at, std::string const& line) {
    auto const key = line.substr(0, line.rfind('/'));
    at.ask(key + "/deactivate", R"({"reason":"compromised"})");
    return at.ask(line);
}

std::vector<row> const contract{
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
    {"GET /auth", 200},

    {"POST /api/v1/events/{id_or_source}", 202, R"({"type":"paid"})"},
    {"GET /api/v1/events", 200},
    {"GET /api/v1/events/{id_or_source}", 200},
    {"PUT /api/v1/events/{event_source}/secret", 201},
    {"GET /api/v1/events/{event_source}/secret", 200},
    {"DELETE /api/v1/events/{event_source}/secret", 204},

    {"GET /api/v1/audit", 200},
    {"GET /healthz", 200},
    {"GET /openapi.json", 200},
    {"GET /docs", 200},
    {"GET /problems/{code}", 200},
};

// What only a level below can be brought to, and where that is tested.
std::map<int, std::string_view> const elsewhere{
    {408, "tests/e2e/http.test.mjs: the connection's clock"},
};

std::string lower(std::string_view text) {
    std::string made;
    for (char const c : text) made.push_back(static_cast<char>(c | 0x20));
    return made;
}

route const& route_of(row const& which) {
    auto const space = which.line.find(' ');
    for (auto const& each : routes())
        if (http::name_of(each.method) == which.line.substr(0, space) &&
            each.pattern == which.line.substr(space + 1))
            return each;
    throw std::logic_error("no route for " + std::string(which.line));
}

// A station with something behind every id, and the line with that id.
struct scene {
    explicit scene(row const& of) : which(of), about(route_of(of)) {
        auto const user = at.add_user();
        auto const post = at.add_post(user);
        at.add_key({"users:read"});
        line = of.line;
        replace("{id}", line.find("/keys/") != line.npos    ? at.last_key()
                        : line.find("/posts/") != line.npos ? post
                                                            : user);
        replace("{code}", "not_found");
        if (line.find("/secret") != line.npos) at.ask("PUT /api/v1/events/shop/secret", "{}");
        replace("{event_source}", "shop");
        if (line.starts_with("GET /api/v1/events/{"))
            replace("{id_or_source}", at.ask("POST /api/v1/events/shop", "{}").id());
        replace("{id_or_source}", "shop");
    }
    void replace(std::string_view what, std::string_view by) {
        if (auto const i = line.find(what); i != line.npos) line.replace(i, what.size(), by);
    }
    void replace(std::string_view what, model::id id) { replace(what, std::to_string(id)); }
    reply ask(std::string_view body, lines fields = {}) {
        return std::holds_alternative<open>(about.run) ? at.ask_bare(line, body, fields)
                                                       : at.ask(line, body, std::move(fields));
    }

    station at;
    row const& which;
    route const& about;
    std::string line;
};

reply with_key(scene& of, model::key record, std::vector<std::string_view> const& scopes = {"*"}) {
    auto const key = of.at.add_key(scopes, std::move(record));
    return of.at.ask_bare(of.line, of.which.body, {bearer(key)});
}

reply over_the_limit(scene& of) {
    auto const key = of.at.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}});
    of.at.exhaust();
    return of.at.ask_bare(of.line, of.which.body, {bearer(key)});
}

reply missing(scene& of) {
    if (of.which.line.find("{code}") != std::string_view::npos)
        return of.at.ask_bare("GET /problems/nothing");
    of.line = of.which.line;
    of.replace("{id}", 999'999);
    bool const reads = of.line.starts_with("GET") || of.line.starts_with("DELETE");
    of.replace("{event_source}", reads ? "other" : "NONE");
    of.replace("{id_or_source}", reads ? "999999" : "NONE");
    return of.ask(of.which.body);
}

// A failure of the store, where it is a write; else one that comes from around the exchange (a
// worker that is overloaded, a body that could not be taken).
reply failing(scene& of, base::problem how) {
    if (!std::holds_alternative<write>(of.about.run)) {
        http::response answer;
        of.ask(of.which.body);
        of.at.exchange.refuse(of.at.desk(), how, "", answer);
        return {answer.status, "\r\n" + std::string(answer.field_lines()), answer.body};
    }
    of.at.outcome_instead = store::outcome{.problem = how};
    return of.ask(of.which.body);
}

// What comes to a status, whatever the operation.
reply ask_for(int status, scene& of) {
    auto const& body = of.which.body;
    switch (status) {
        case 400:
            of.line += "?nobody_knows=1";
            return of.ask(body);
        case 401:
            return of.at.ask_bare(of.line);
        case 403:
            if (!std::holds_alternative<open>(of.about.run))
                return with_key(of, {.expires_at = of.at.now.wall, .rate_limits = {}});
            of.at.from.tls = false;
            return of.ask(body);
        case 404:
            return missing(of);
        case 406:
            return of.ask(body, {"Accept: text/html"});
        case 409:
            // Of those that nothing else conflicts with, an earlier request may still be running.
            return of.which.conflict ? of.which.conflict(of.at, of.line)
                                     : failing(of, base::problem::idempotency_in_progress);
        case 413:
            of.at.rules.body_bytes_max = 1000;
            return of.ask(std::string(1001, ' '));
        case 414:
            of.line += "?" + std::string(9000, 'a');
            return of.ask(body);
        case 415:
            return of.ask("{}", {"Content-Type: text/plain"});
        case 417:
            return of.ask(body, {"Expect: a-miracle"});
        case 422:
            return of.ask(of.line.starts_with("POST /api/v1/events") ? "[]"
                                                                     : R"({"nobody knows":1})");
        case 304:
            return of.ask(body, {"If-None-Match: *"});
        case 412:
            return of.ask(body, {"If-Match: \"of another version\""});
        case 428:
            of.at.rules.require_if_match = true;
            return of.ask(body);
        case 429:
            return over_the_limit(of);
        case 431:
            return of.ask(body, {"X-Note: " + std::string(17'000, 'a')});
        case 500:
            return failing(of, base::problem::internal_error);
        case 503:
            return failing(of, base::problem::overloaded);
        case 507:
            return failing(of, base::problem::storage_full);
        default:
            // With a second key, so that the first may turn itself off.
            return std::holds_alternative<open>(of.about.run) ? of.ask(body)
                                                              : with_key(of, {.rate_limits = {}});
    }
}

TEST(contract, has_the_routes_of_the_service) {
    std::set<std::string> wanted, found;
    for (auto const& each : contract) wanted.emplace(each.line);
    for (auto const& each : routes())
        found.insert(std::string(http::name_of(each.method)) + " " + std::string(each.pattern));
    EXPECT_EQ(wanted, found);
}

TEST(contract, every_status_of_every_operation_is_the_answer_of_some_request) {
    auto const document = describe_interface(settings{});
    for (auto const& each : contract) {
        auto const& about = route_of(each);
        auto const& answers = document.at("paths")
                                  .at(about.pattern)
                                  .at(lower(http::name_of(about.method)))
                                  .at("responses")
                                  .as_object();
        EXPECT_TRUE(answers.contains(std::to_string(each.success))) << each.line;
        for (auto const& [text, what] : answers) {
            auto const status = std::stoi(std::string(text));
            if (elsewhere.contains(status)) continue;
            SCOPED_TRACE(std::string(each.line) + " → " + std::string(text));
            scene of(each);
            auto const made = ask_for(status, of);
            EXPECT_EQ(made.status, status) << made.body;
        }
    }
}

}  // namespace
}  // namespace latchkey::api
