// Idempotency-Key (api.md §9), and its place in the order of checks (§3).
#include "../../harness.hpp"
#include "api/frame/checks/idempotency_check.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;

constexpr std::string_view users = "POST /api/v1/users";
constexpr std::string_view ada = R"({"name":"Ada","email":"ada@example.com"})";

lines named(std::string_view key) {
    return {"Idempotency-Key: " + std::string(key)};
}

class idempotency : public api_test {
  protected:
    reply once(std::string_view key, std::string_view line, std::string_view body = {}) {
        return service.request(line, body, named(key));
    }
    reply as(std::string_view credential, std::string_view line, std::string_view body,
             lines fields) {
        fields.push_back(bearer(credential));
        return service.request_anonymous(line, body, fields);
    }
    std::string total(std::string_view path = "/api/v1/users") {
        return service.request("GET " + std::string(path)).at("/pagination/total");
    }
};

// The same response, except for the fields of each request.
void expect_replay(reply const& first, reply const& again) {
    EXPECT_EQ(first.field("Idempotency-Replayed"), "");
    EXPECT_EQ(again.fields("Idempotency-Replayed"), lines{"true"}) << again.body;
    EXPECT_EQ(again.status, first.status);
    EXPECT_NE(again.field("X-Request-Id"), first.field("X-Request-Id"));
    auto body = again.body;
    auto const id = again.field("X-Request-Id");
    for (auto i = body.find(id); i != body.npos; i = body.find(id))
        body.replace(i, id.size(), first.field("X-Request-Id"));
    EXPECT_EQ(body, first.body);
    for (auto const* const name : {"Location", "ETag", "Cache-Control", "Content-Type", "Vary"})
        EXPECT_EQ(again.fields(name), first.fields(name)) << name;
}

TEST_F(idempotency, of_a_post_replays_the_response) {
    auto const first = once("k-1", users, ada);
    ASSERT_EQ(first.status, 201);
    EXPECT_TRUE(service.committed);
    service.advance(60'000);
    for (int i = 0; i < 3; ++i) {
        expect_replay(first, once("k-1", users, ada));
        EXPECT_FALSE(service.committed);
    }
    EXPECT_EQ(total(), "1");
    EXPECT_EQ(service.request(users, ada).code(), "email_taken");
    EXPECT_EQ(once("k-2", users, ada).code(), "email_taken");
}

TEST_F(idempotency, of_a_patch_replays_the_first_response) {
    auto const id = service.add_user("Ada");
    auto const path = "/api/v1/users/" + std::to_string(id);
    auto const first = once("k", "PATCH " + path, R"({"name":"Grace"})");
    EXPECT_EQ(first.at("/name"), "\"Grace\"");
    EXPECT_EQ(service.request("PATCH " + path, R"({"name":"Later"})").status, 200);
    expect_replay(first, once("k", "PATCH " + path, R"({"name":"Grace"})"));
    EXPECT_EQ(service.request("GET " + path).at("/name"), "\"Later\"");
    service.remove_user(id);
    expect_replay(first, once("k", "PATCH " + path, R"({"name":"Grace"})"));
}

TEST_F(idempotency, works_on_every_route_that_writes) {
    auto const user = std::to_string(service.add_user());
    auto const post = std::to_string(service.add_post(std::stol(user)));
    auto const other = service.request("POST /api/v1/keys", R"({"name":"other"})");
    auto const key = "/api/v1/keys/" + std::to_string(other.id());
    std::vector<std::pair<std::string, std::string>> const rows{
        {"POST /api/v1/posts", R"({"user_id":)" + user + R"(,"title":"t"})"},
        {"PATCH /api/v1/posts/" + post, R"({"status":"published"})"},
        {"PATCH " + key, R"({"metadata":{"a":"b"}})"},
        {"POST " + key + "/deactivate", ""},
        {"POST " + key + "/reactivate", ""},
        {"POST " + key + "/deactivate", R"({"reason":"compromised"})"},
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        auto const name = "row-" + std::to_string(i);
        auto const first = once(name, rows[i].first, rows[i].second);
        EXPECT_LT(first.status, 300) << rows[i].first << first.body;
        expect_replay(first, once(name, rows[i].first, rows[i].second));
    }
    EXPECT_EQ(total("/api/v1/posts"), "2");
    // A repeat of the first request, long after the key was deactivated, reactivated and
    // deactivated.
    EXPECT_EQ(once("row-3", rows[3].first).at("/state"), "\"deactivated\"");
    EXPECT_EQ(once("row-4", rows[4].first).at("/state"), "\"active\"");
}

TEST_F(idempotency, key_is_the_same_quoted_or_bare) {
    auto const first = once("abc", users, ada);
    expect_replay(first, once("\"abc\"", users, ada));
    auto const odd = once(R"("a\"b\\c")", users, R"({"name":"B","email":"b@example.com"})");
    expect_replay(odd, once(R"(a"b\c)", users, R"({"name":"B","email":"b@example.com"})"));
    EXPECT_EQ(read_idempotency_key("ABC"), "ABC");
    EXPECT_NE(once("ABC", users, ada).status, 201);
    EXPECT_TRUE(read_idempotency_key(std::string(255, 'x')));
    EXPECT_TRUE(read_idempotency_key('"' + std::string(255, 'x') + '"'));
    EXPECT_TRUE(read_idempotency_key("!~"));
}

TEST_F(idempotency, key_that_is_invalid_is_refused) {
    for (std::string const value :
         {"", "\"\"", "\"", "\"a", "a b", "\"a b\"", "a\tb", "\"a\"b", "\"a\\b\"", "\"a\\\"",
          "\"a\";x=1", "\"a\", \"b\"", "k\xc3\xa9y", "\x80"}) {
        auto const response = once(value, users, ada);
        EXPECT_EQ(response.status, 400) << value;
        EXPECT_EQ(response.code(), "idempotency_key_invalid") << value;
        EXPECT_EQ(response.faults(), (faults{{"Idempotency-Key", "invalid_format"}}));
    }
    EXPECT_EQ(once(std::string(256, 'x'), users, ada).code(), "idempotency_key_invalid");
    EXPECT_EQ(once('"' + std::string(256, 'x') + '"', users, ada).code(),
              "idempotency_key_invalid");
    lines const twice{"Idempotency-Key: a", "idempotency-key: a"};
    EXPECT_EQ(service.request(users, ada, twice).code(), "idempotency_key_invalid");
    EXPECT_EQ(total(), "0");
}

TEST_F(idempotency, is_ignored_where_nothing_would_be_made_twice) {
    service.add_user();
    auto const body = R"({"name":"N","email":"n@example.com"})";
    auto const verification = R"({"key":")" + service.add_key({"users:read"}) + "\"}";
    for (int i = 0; i < 2; ++i) {
        for (lines const& fields : {named("k"), named("not valid"), lines{"Idempotency-Key: "}}) {
            for (auto const* const line : {"GET /api/v1/users", "HEAD /api/v1/users/1",
                                           "OPTIONS /api/v1/users", "GET /healthz", "POST /auth"})
                EXPECT_LT(service.request(line, {}, fields).status, 300) << line;
            EXPECT_EQ(service.request("PUT /api/v1/users/1", body, fields).status, 200);
            EXPECT_EQ(service.request("DELETE /api/v1/users/9", {}, fields).code(), "not_found");
            auto const verified = service.request("POST /api/v1/keys/verify", verification, fields);
            EXPECT_EQ(verified.at("/valid"), "true") << verified.body;
            EXPECT_EQ(verified.field("Idempotency-Replayed"), "");
            auto const token = R"({"token":")" + service.key + "\"}";
            for (auto const& [line, text] :
                 {std::pair("POST /api/v1/introspect", std::string_view(token)),
                  std::pair("POST /api/v1/session", std::string_view()),
                  std::pair("DELETE /api/v1/session", std::string_view()),
                  std::pair("DELETE /api/v1/sessions", std::string_view())}) {
                auto const answer = service.request(line, text, fields);
                EXPECT_LT(answer.status, 300) << line << answer.body;
                EXPECT_EQ(answer.field("Idempotency-Replayed"), "") << line;
            }
        }
    }
}

TEST_F(idempotency, key_of_another_request_is_refused) {
    auto const first = once("k", users, ada);
    for (auto const& [line, body] : std::initializer_list<std::pair<std::string, std::string>>{
             {"POST /api/v1/users", R"({"name":"Bob","email":"bob@example.com"})"},
             {"POST /api/v1/users", R"({"name": "Ada","email":"ada@example.com"})"},
             {"POST /api/v1/posts", std::string(ada)},
             {"PATCH /api/v1/users/1", std::string(ada)},
             {"POST /api/v1/keys/1/rotate", ""},
             // Checked after the head and before the body.
             {"POST /api/v1/users", "{"},
             {"POST /api/v1/users", "[]"},
             {"POST /api/v1/users?what=1", std::string(ada)},
             {"PATCH /api/v1/users/none", "{}"},
             {"PATCH /api/v1/users/77", R"({"name":1})"}}) {
        auto const response = once("k", line, body);
        EXPECT_EQ(response.status, 422) << line << body;
        EXPECT_EQ(response.code(), "idempotency_key_reused") << line << body;
        EXPECT_EQ(response.field("Idempotency-Replayed"), "");
    }
    EXPECT_EQ(service.request(users, ada, {"Content-Type: text/plain", named("k")[0]}).status, 415);
    EXPECT_EQ(service.request(users, ada, {"Accept: text/html", named("k")[0]}).status, 406);
    EXPECT_EQ(once("k", "POST /api/v1/users/1", ada).status, 405);
    expect_replay(first, once("k", users, ada));
    EXPECT_EQ(total(), "1");
}

// In whichever way a request carries its key, and at any place in the body.
TEST_F(idempotency, request_is_the_same_with_the_key_anywhere) {
    auto const first = once("k", users, R"({"name": "Ada", "email": "ada@example.com"})");
    ASSERT_EQ(first.status, 201);
    auto const key = service.key;
    std::string const rest = R"("name": "Ada", "email": "ada@example.com")";
    for (std::string const& body :
         {R"({"api_key":")" + key + "\", " + rest + "}",
          R"({"\u0061pi_key" : ")" + key + "\" ,  " + rest + "}",
          "{" + rest + R"(, "api_key": ")" + key + "\"}",
          R"({"name": "Ada", "api_key":")" + key + R"(", "email": "ada@example.com"})"})
        expect_replay(first, service.request_anonymous(users, body, named("k")));
    expect_replay(first, service.request_anonymous(std::string(users) + "?api_key=" + key,
                                                   "{" + rest + "}", named("k")));
    expect_replay(first, service.request_anonymous(users, "{" + rest + "}",
                                                   {"X-API-Key: " + key, named("k")[0]}));
    // An api_key that was not used is left out too.
    expect_replay(first, once("k", users, R"({"api_key":{"x":[1,"]"]}, )" + rest + "}"));
    expect_replay(first,
                  service.send(in_chunks(users, {bearer(key), named("k")[0]}, "{" + rest + "}")));
    expect_replay(first, once("k", "POST /users", "{" + rest + "}"));
    for (std::string const prefix : {"", " ", "\n\t"})
        for (std::string const suffix : {"", " ", "\r\n"})
            expect_replay(first, once("k", users,
                                      R"({"name": "Ada",)" + prefix + R"("api_key":"x")" + suffix +
                                          R"(, "email": "ada@example.com"})"));
    EXPECT_EQ(total(), "1");
    // Only in a POST is it a credential.
    auto const id = "PATCH /api/v1/users/" + std::to_string(first.id());
    EXPECT_EQ(once("p", id, R"({"name":"B"})").status, 200);
    EXPECT_EQ(once("p", id, R"({"api_key":"x","name":"B"})").code(), "idempotency_key_reused");
}

TEST_F(idempotency, fingerprints_differ_where_requests_do) {
    std::map<model::digest, std::string> fingerprints;
    auto const add = [&](http::method method, std::string_view path, std::string_view query,
                         std::string_view body) {
        http::request request;
        request.method = method;
        request.query = query;
        request.body = body;
        auto const text = std::string(path) + "?" + std::string(query) + " " + std::string(body);
        EXPECT_TRUE(fingerprints.emplace(fingerprint(request, path, false), text).second) << text;
    };
    using enum http::method;
    add(post, "/a", "", "");
    add(patch, "/a", "", "");
    add(post, "/a/b", "", "");
    add(post, "/a", "b", "");
    add(post, "/a", "", "b");
    add(post, "/a", "b", "b");
    add(post, "/a", "b&c", "");
    add(post, "/a", "c&b", "");
    add(post, "/a", "", "\n");
    add(post, "/a", "", "{}");
    add(post, "/a", "", "{ }");
    add(post, "/a", "", R"({"a":1})");
    add(post, "/a", "", R"({"a":{"api_key":1}})");
    add(post, "/a", "", R"([{"api_key":1}])");
    add(post, "/a", "", R"({"a":"api_key"})");
    add(patch, "/a", "", R"({"api_key":1})");
    // Not JSON: all bytes count.
    for (auto const* const body : {"{\"api_key", "{\"api_key\":\"x", "{\"api_key\":1",
                                   "\"api_key\":1", "}{\"api_key\"", "{\"a\\"})
        add(post, "/a", "", body);
    http::request request;
    request.method = post;
    request.body = R"({"api_key":1})";
    EXPECT_EQ(fingerprints[fingerprint(request, "/a", false)], "/a? {}");
    request.body = R"({"a":1,"api_key":[1,{"b":"}"}]})";
    EXPECT_EQ(fingerprints[fingerprint(request, "/a", false)], R"(/a? {"a":1})");
    request.body = R"({"api_key":"\"}","a":1})";
    EXPECT_EQ(fingerprints[fingerprint(request, "/a", false)], R"(/a? {"a":1})");
    // White space around the member does not count; that around what stays does.
    for (std::string const space : {"", " ", "\n  "}) {
        auto const member = space + R"("api_key":"x")" + space;
        auto const print = [&](std::string const& body) {
            request.body = body;
            return fingerprint(request, "/a", false);
        };
        EXPECT_EQ(print("{" + member + "}"), print("{}")) << space;
        EXPECT_EQ(print(R"({"a":1 ,)" + member + R"(, "b":2})"), print(R"({"a":1 , "b":2})"));
        EXPECT_EQ(print(R"({"a":1)" + space + "," + member + "}"),
                  print(R"({"a":1)" + space + "}"));
        EXPECT_EQ(print("{" + member + "," + space + R"("a":1})"),
                  print("{" + space + R"("a":1})"));
        EXPECT_NE(print(R"({"a":1 ,)" + member + R"(, "b":2})"), print(R"({"a":1,"b":2})"));
    }
    request.body = {};
    request.query = "b&api_key=x&c&%61pi_key=y";
    EXPECT_EQ(fingerprints[fingerprint(request, "/a", false)], "/a?b&c ");
}

TEST_F(idempotency, keeps_refusals) {
    auto const user = service.add_user("Ada", "ada@example.com");
    auto const post = std::to_string(service.add_post(user, model::post_status::archived));
    struct {
        std::string line, body, code;
    } const rows[] = {
        {"POST /api/v1/users", std::string(ada), "email_taken"},
        {"PATCH /api/v1/users/999", R"({"name":"x"})", "not_found"},
        {"PATCH /api/v1/users/none", R"({"name":"x"})", "not_found"},
        {"POST /api/v1/users", R"({"name":"","x":1})", "validation_failed"},
        {"POST /api/v1/users", "[1]", "validation_failed"},
        {"POST /api/v1/posts", R"({"user_id":999,"title":"t"})", "validation_failed"},
        {"PATCH /api/v1/posts/" + post, R"({"status":"published"})", "invalid_state_transition"},
        {"POST /api/v1/keys/1/deactivate", "", "last_admin_key"},
        {"POST /api/v1/keys/999/rotate", "", "not_found"},
    };
    std::vector<reply> first;
    for (auto const& row : rows) {
        first.push_back(once("row-" + std::to_string(first.size()), row.line, row.body));
        EXPECT_EQ(first.back().code(), row.code) << row.line;
    }
    // Even after the reason is gone.
    service.remove_user(user);
    service.add_key({"*"});
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        expect_replay(first[i], once("row-" + std::to_string(i), rows[i].line, rows[i].body));
        EXPECT_EQ(once("row-" + std::to_string(i), rows[i].line, "{\"a\":1}").code(),
                  "idempotency_key_reused");
    }
    EXPECT_EQ(total(), "0");
}

TEST_F(idempotency, does_not_keep_refusals_that_may_change) {
    auto const limited = service.add_key({"users:write"}, {.rate_limits = {{"minute", 2, 60, 0}}});
    for (int i = 0; i < 4; ++i) as(limited, users, "{", named("k"));
    EXPECT_EQ(as(limited, users, ada, named("k")).status, 429);
    EXPECT_EQ(once("k", users, "{").code(), "invalid_json");
    EXPECT_EQ(once("k", users, R"({"a":1,"a":2})").code(), "invalid_json");
    EXPECT_EQ(once("k", std::string(users) + "?x=1", ada).code(), "invalid_parameter");
    EXPECT_EQ(service.request_anonymous(users, ada, named("k")).status, 401);
    EXPECT_EQ(as(auth::unknown_key(), users, ada, named("k")).status, 401);
    for (auto const code :
         {base::problem::storage_full, base::problem::internal_error, base::problem::overloaded,
          base::problem::store_busy, base::problem::key_deactivated}) {
        service.next_outcome = domain::outcome{.problem = code};
        EXPECT_EQ(once("k", users, ada).status, base::describe(code).status);
    }
    auto const first = once("k", users, ada);
    EXPECT_EQ(first.status, 201);
    expect_replay(first, once("k", users, ada));

    auto const lesser = service.add_key({"keys:write", "users:read"});
    auto const body = R"({"name":"n","scopes":["posts:read"]})";
    EXPECT_EQ(as(lesser, "POST /api/v1/keys", body, named("s")).code(), "insufficient_scope");
    auto const covered = R"({"name":"n","scopes":["users:read"]})";
    EXPECT_EQ(as(lesser, "POST /api/v1/keys", covered, named("s")).status, 201);
    EXPECT_EQ(as(lesser, "POST /api/v1/keys", body, named("s")).code(), "idempotency_key_reused");
    EXPECT_EQ(as(lesser, "POST /api/v1/users", ada, named("s")).code(), "insufficient_scope");
}

TEST_F(idempotency, belongs_to_a_key_and_its_successors) {
    auto const first_key =
        service.request("POST /api/v1/keys", R"({"name":"a","scopes":["users:*"]})");
    auto const text = [](reply const& response) {
        auto const quoted = response.at("/key");
        return quoted.substr(1, quoted.size() - 2);
    };
    auto const rotate = [&](reply const& key) {
        return service.request("POST /api/v1/keys/" + std::to_string(key.id()) + "/rotate");
    };
    auto const first = as(text(first_key), users, ada, named("k"));
    ASSERT_EQ(first.status, 201);
    auto const second_key = rotate(first_key);
    auto const third_key = rotate(second_key);
    ASSERT_EQ(third_key.status, 201);
    for (auto const& each : {first_key, second_key, third_key})
        expect_replay(first, as(text(each), users, ada, named("k")));
    EXPECT_EQ(as(text(third_key), users, "{}", named("k")).code(), "idempotency_key_reused");
    EXPECT_EQ(once("k", users, ada).code(), "email_taken");
    auto const other = service.add_key({"users:*"});
    EXPECT_EQ(as(other, users, ada, named("k")).code(), "email_taken");
}

TEST_F(idempotency, shows_a_key_once) {
    auto const response = once("k", "POST /api/v1/keys", R"({"name":"n"})");
    ASSERT_EQ(response.status, 201);
    auto const expected = [&](reply const& first, reply const& again) {
        auto rest = first.body;
        auto const key = first.at("/key");
        EXPECT_EQ(key.size(), 50u);
        rest.replace(rest.find(key), key.size(), "null");
        expect_replay({first.status, first.head, rest}, again);
        EXPECT_EQ(again.at("/key"), "null");
        EXPECT_EQ(again.field("Cache-Control"), "no-store");
    };
    expected(response, once("k", "POST /api/v1/keys", R"({"name":"n"})"));
    auto const line = "POST /api/v1/keys/" + std::to_string(response.id()) + "/rotate";
    auto const next = once("r", line, R"({"overlap_seconds":60})");
    expected(next, once("r", line, R"({"overlap_seconds":60})"));
    EXPECT_EQ(total("/api/v1/keys"), "3");
}

// Two concurrent requests: the key that the second one made is discarded.
TEST_F(idempotency, shows_no_discarded_key) {
    auto const response = once("k", "POST /api/v1/keys", R"({"name":"n"})");
    model::key record{.id = response.id(), .name = "n", .rate_limits = {}};
    service.next_outcome = domain::outcome{.record = record, .replayed = true};
    auto const again = once("other", "POST /api/v1/keys", R"({"name":"n"})");
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.at("/key"), "null");
    EXPECT_EQ(again.field("Idempotency-Replayed"), "true");
}

TEST_F(idempotency, is_charged_each_time) {
    auto const key = service.add_key({"users:write"}, {.rate_limits = {{"minute", 3, 60, 0}}});
    auto const first = as(key, users, ada, named("k"));
    EXPECT_EQ(first.field("RateLimit"), "\"minute\";r=2;t=40");
    auto const again = as(key, users, ada, named("k"));
    expect_replay(first, again);
    EXPECT_EQ(again.field("RateLimit"), "\"minute\";r=1;t=20");
    EXPECT_EQ(as(key, users, ada, named("k")).status, 201);
    EXPECT_EQ(as(key, users, ada, named("k")).code(), "rate_limited");
}

// Another connection repeats the request while the first one waits for its commit.
TEST_F(idempotency, is_in_progress_until_the_first_is_answered) {
    once("warm", users, "{");
    class exchange first;
    http::request request;
    http::framing framing;
    http::response answer;
    auto bytes = request_text(users, {bearer(service.key), named("m")[0]}, ada);
    auto const head = http::parser(service.http_limits).read_head(bytes, request, framing);
    ASSERT_EQ(first.begin(service.services(), request, framing, service.peer, service.now, answer),
              next_step::read_body);
    // A request whose body is still arriving is not running.
    EXPECT_EQ(once("m", users, "{").code(), "invalid_json");
    request.body = std::string_view(bytes).substr(head.consumed);
    ASSERT_EQ(first.finish(service.services(), request, service.now, answer), next_step::commit);

    for (auto const* const body : {ada.data(), "{", "{}"}) {
        auto const response = once("m", users, body);
        EXPECT_EQ(response.status, 409);
        EXPECT_EQ(response.code(), "idempotency_in_progress");
        EXPECT_FALSE(service.committed);
    }
    EXPECT_EQ(as(service.add_key({"users:*"}), users, "{}", named("m")).code(),
              "validation_failed");
    // It was not carried out, so the next request is not a repeat.
    first.answer(service.services(), {.problem = base::problem::overloaded}, answer);
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(once("m", users, ada).status, 201);
    // A request that failed releases its Idempotency-Key.
    EXPECT_EQ(once("n", users, "{").code(), "invalid_json");
    EXPECT_EQ(once("n", users, "{").code(), "invalid_json");
}

// /keys/current means a different key for each successor of a rotation.
TEST_F(idempotency, of_deactivating_the_current_key_is_not_shared_with_successors) {
    auto const old = service.add_key({"users:read"});
    auto const response = service.request(
        "POST /api/v1/keys/" + std::to_string(service.last_key()) + "/rotate", "{}");
    auto const quoted = response.at("/key");
    auto const fresh = quoted.substr(1, quoted.size() - 2);
    constexpr std::string_view deactivate = "POST /api/v1/keys/current/deactivate";
    EXPECT_EQ(as(old, deactivate, "{}", named("off")).at("/state"), "\"deactivated\"");
    auto const second = as(fresh, deactivate, "{}", named("off"));
    EXPECT_EQ(second.field("Idempotency-Replayed"), "");
    EXPECT_EQ(second.at("/id"), response.at("/id"));
    EXPECT_EQ(as(fresh, "GET /api/v1/keys/current", {}, {}).code(), "key_deactivated");
}

// The signature is checked each time, before a repeat is recognised.
TEST_F(idempotency, of_an_event_does_not_replace_its_signature) {
    constexpr std::string_view line = "POST /api/v1/events/shop";
    auto const first = once("e-1", line, "{}");
    ASSERT_EQ(first.status, 202);
    expect_replay(first, once("e-1", line, "{}"));
    ASSERT_EQ(service.request("PUT /api/v1/events/shop/secret", "{}").status, 201);
    EXPECT_EQ(once("e-1", line, "{}").code(), "signature_invalid");
}

// A kept refusal is small, whatever the request was.
TEST_F(idempotency, keeps_member_names_short) {
    auto const body = "{\"" + std::string(100'000, 'n') + "\":1}";
    auto const first = once("long", users, body);
    EXPECT_EQ(first.code(), "validation_failed");
    EXPECT_LT(first.body.size(), 2000u);
    expect_replay(first, once("long", users, body));
    auto const wide = "{\"" + std::string(199, 'n') + "\u00e4\":1}";
    EXPECT_EQ(service.request(users, wide).faults().count("/" + std::string(199, 'n')), 1u);
}

}  // namespace
}  // namespace latchkey::api
