// The order of checks of api.md §3: a request that fails two adjacent checks gets the answer of the
// earlier one. Most requests here fail all later checks too.
#include "../harness.hpp"

namespace latchkey::api {
namespace {

class order : public api_test {
  protected:
    // A key with these scopes that is refused for every reason in the arguments.
    std::string key_of(std::vector<std::string_view> const& scopes, model::key record) {
        record.rate_limits = {{"minute", 1, 60, 0}};
        auto const text = service.add_key(scopes, std::move(record));
        service.exhaust();
        return bearer(text);
    }
    std::string narrow() { return bearer(service.add_key({"usage:read"})); }
    std::vector<model::cidr> elsewhere{*model::cidr::parse("198.51.100.0/24")};
    lines const picky{"Accept: text/html", "Content-Type: text/plain", "Expect: a-miracle"};

    reply request(std::string_view line, lines fields, std::string_view body = "{") {
        fields.insert(fields.end(), picky.begin(), picky.end());
        return service.request_anonymous(line, body, fields);
    }
    std::string code_of(std::string_view line, lines const& fields, std::string_view body = "{") {
        return request(line, fields, body).code();
    }
};

TEST_F(order, head_before_https) {
    service.peer.tls = false;
    EXPECT_EQ(code_of("GET /" + std::string(9000, 'a'), {}), "uri_too_long");
    EXPECT_EQ(code_of("GET /", {"X:" + std::string(17000, 'a')}), "headers_too_large");
    EXPECT_EQ(code_of("GET /", {"Host: twice"}), "malformed_request");
    auto const large = "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n";
    EXPECT_EQ(service.send(large).code(), "body_too_large");
}

TEST_F(order, https_before_the_credential) {
    service.peer.tls = false;
    for (lines const& fields : {lines{}, lines{bearer("x")},
                                lines{bearer(service.key), bearer(service.key)}, lines{narrow()}})
        EXPECT_EQ(code_of("POST /nothing", fields), "https_required");
    EXPECT_EQ(service.request("GET /healthz").code(), "https_required");
}

TEST_F(order, an_absent_or_ambiguous_credential_before_an_unknown_one) {
    EXPECT_EQ(code_of("PUT /nothing", {}), "key_missing");
    EXPECT_EQ(code_of("POST /nothing", {}), "key_missing");
    EXPECT_EQ(code_of("PUT /nothing", {bearer("x"), bearer("y")}), "duplicate_credentials");
    EXPECT_EQ(code_of("PUT /nothing", {bearer("x")}), "key_invalid");
}

TEST_F(order, state_before_address_before_limits_before_route) {
    auto const now = service.now.wall;
    auto const line = "POST /nothing";
    auto const deactivation = model::deactivation::manual;
    EXPECT_EQ(code_of(line, {key_of({}, {.not_before = now + 9'000,
                                         .expires_at = now - 1,
                                         .deactivated_at = 1,
                                         .deactivation_reason = deactivation,
                                         .ip_allowlist = elsewhere})}),
              "key_deactivated");
    EXPECT_EQ(code_of(line, {key_of({}, {.not_before = now + 9'000,
                                         .expires_at = now - 1,
                                         .ip_allowlist = elsewhere})}),
              "key_expired");
    EXPECT_EQ(code_of(line, {key_of({}, {.not_before = now + 9'000, .ip_allowlist = elsewhere})}),
              "key_not_yet_active");
    EXPECT_EQ(code_of(line, {key_of({}, {.ip_allowlist = elsewhere})}), "ip_not_allowed");
    EXPECT_EQ(code_of(line, {key_of({}, {})}), "rate_limited");
}

TEST_F(order, route_before_scope) {
    EXPECT_EQ(code_of("POST /nothing", {narrow()}), "route_not_found");
    EXPECT_EQ(code_of("POST /api/v1/users/", {narrow()}), "route_not_found");
    EXPECT_EQ(code_of("DELETE /api/v1/users", {narrow()}), "method_not_allowed");
    EXPECT_EQ(code_of("POST /api/v1/users/1", {narrow()}), "method_not_allowed");
}

TEST_F(order, scope_before_media_types_before_the_expectation) {
    EXPECT_EQ(code_of("POST /api/v1/users", {narrow()}), "insufficient_scope");
    EXPECT_EQ(code_of("PATCH /api/v1/posts/nonsense", {narrow()}), "insufficient_scope");
    EXPECT_EQ(code_of("POST /api/v1/users", {bearer(service.key)}), "not_acceptable");
    EXPECT_EQ(code_of("GET /api/v1/users/nonsense?no=1", {bearer(service.key)}), "not_acceptable");
    lines const html{"Accept: text/html"}, text{"Content-Type: text/plain", "Expect: a-miracle"};
    EXPECT_EQ(service.request("POST /api/v1/users", "{", text).code(), "unsupported_media_type");
    EXPECT_EQ(service.request("POST /api/v1/users?no=1", "{", {"Expect: a-miracle"}).code(),
              "expectation_failed");
}

TEST_F(order, media_types_before_the_size_of_the_body_before_its_content) {
    service.http_limits.body_bytes_max = 100;
    service.settings.body_bytes_max = 100;
    std::string const large(101, '{');
    EXPECT_EQ(service
                  .send(in_chunks("POST /api/v1/users?no=1",
                                  {bearer(service.key), "Accept: text/html"}, large))
                  .code(),
              "not_acceptable");
    EXPECT_EQ(
        service.send(in_chunks("POST /api/v1/users?no=1", {bearer(service.key)}, large)).code(),
        "body_too_large");
    auto broken = in_chunks("POST /api/v1/users?no=1", {bearer(service.key)}, "{");
    broken.replace(broken.rfind("1\r\n{"), 1, "g");
    EXPECT_EQ(service.send(broken).code(), "malformed_request");
}

TEST_F(order, body_and_query_before_existence) {
    for (std::string const path : {"/api/v1/users/9", "/api/v1/posts/9"}) {
        EXPECT_EQ(service.request("GET " + path + "?no=1").code(), "invalid_parameter");
        EXPECT_EQ(service.request("DELETE " + path + "?no=1").code(), "invalid_parameter");
        for (std::string const method : {"PUT ", "PATCH "}) {
            EXPECT_EQ(service.request(method + path + "?no=1", "{}").code(), "invalid_parameter");
            EXPECT_EQ(service.request(method + path, "{").code(), "invalid_json");
            EXPECT_EQ(service.request(method + path, R"({"no":1})").code(), "validation_failed");
        }
        EXPECT_EQ(service.request("PATCH " + path, "{}").code(), "not_found");
    }
    EXPECT_EQ(service.request("GET /api/v1/users/9/posts?no=1").code(), "invalid_parameter");
    EXPECT_EQ(service.request("GET /api/v1/users/9/posts?page=0").code(), "invalid_parameter");
}

TEST_F(order, existence_before_conflicts) {
    service.add_user("Ada", "ada@example.com");
    EXPECT_EQ(service.request("PATCH /api/v1/users/9", R"({"email":"ada@example.com"})").code(),
              "not_found");
    EXPECT_EQ(service.request("PATCH /api/v1/posts/9", R"({"status":"published"})").code(),
              "not_found");
}

// Framing and size come before it, body and query after it.
TEST_F(order, idempotency_between_framing_and_body) {
    lines const bad{"Idempotency-Key: two words"};
    service.settings.body_bytes_max = 1000;
    for (std::string const line : {"POST /api/v1/users?no=1", "PATCH /api/v1/users/9?no=1"}) {
        EXPECT_EQ(service.request(line, std::string(1001, '{'), bad).code(), "body_too_large");
        for (auto const* const body : {"{", R"({"no":1})", "{}"})
            EXPECT_EQ(service.request(line, body, bad).code(), "idempotency_key_invalid")
                << line << body;
    }
    lines const used_key{"Idempotency-Key: used"};
    ASSERT_EQ(
        service.request("POST /api/v1/users", R"({"name":"A","email":"a@b.c"})", used_key).status,
        201);
    for (auto const* const body : {"{", R"({"no":1})"})
        EXPECT_EQ(service.request("POST /api/v1/users?no=1", body, used_key).code(),
                  "idempotency_key_reused");
}

TEST_F(order, existence_before_preconditions_before_conflicts) {
    lines const old{"If-Match: \"of another version\""};
    auto const user = service.add_user("Ada", "ada@example.com");
    auto const other = std::to_string(service.add_user());
    auto const post = std::to_string(service.add_post(user, model::post_status::archived));
    service.add_key({"keys:write"});
    auto const key = std::to_string(service.last_key());
    service.request("POST /api/v1/keys/" + key + "/deactivate", R"({"reason":"compromised"})");
    struct row {
        std::string line, missing, body, conflict;
    };
    row const rows[] = {
        {"PATCH /api/v1/users/" + other, "PATCH /api/v1/users/99", R"({"email":"ada@example.com"})",
         "email_taken"},
        {"PATCH /api/v1/posts/" + post, "PATCH /api/v1/posts/99", R"({"status":"published"})",
         "invalid_state_transition"},
        {"POST /api/v1/keys/" + key + "/rotate", "POST /api/v1/keys/99/rotate", "{}",
         "key_not_active"},
        {"POST /api/v1/keys/" + key + "/reactivate", "POST /api/v1/keys/99/reactivate", "{}",
         "key_not_reactivatable"},
    };
    for (auto const& each : rows) {
        EXPECT_EQ(service.request(each.missing, each.body, old).code(), "not_found") << each.line;
        EXPECT_EQ(service.request(each.missing, each.body).code(), "not_found") << each.line;
        EXPECT_EQ(service.request(each.line, each.body, old).code(), "precondition_failed")
            << each.line;
        EXPECT_EQ(service.request(each.line, each.body).code(), each.conflict) << each.line;
    }
    service.settings.require_if_match = true;
    EXPECT_EQ(service.request("DELETE /api/v1/users/99").code(), "not_found");
    EXPECT_EQ(service.request(rows[0].line, rows[0].body).code(), "precondition_required");
    EXPECT_EQ(service.request(rows[1].line, rows[1].body).code(), "precondition_required");
}

// A missing key, a precondition, and the last key that can manage keys.
TEST_F(order, existence_and_preconditions_before_the_last_admin_key) {
    auto const own = std::to_string(service.request("GET /api/v1/keys/current").id());
    lines const old{"If-Match: \"of another version\""};
    for (std::string const action : {"DELETE ", "POST "}) {
        auto const tail = action == "POST " ? "/deactivate" : "";
        auto const path = action + "/api/v1/keys/";
        EXPECT_EQ(service.request(path + "99" + tail).code(), "not_found");
        EXPECT_EQ(service.request(path + own + tail, {}, old).code(), "precondition_failed");
        EXPECT_EQ(service.request(path + own + tail).code(), "last_admin_key");
    }
}

TEST_F(order, body_before_conflicts) {
    auto const one = service.add_user("Ada", "ada@example.com");
    auto const two = std::to_string(service.add_user());
    auto const post = std::to_string(service.add_post(one, model::post_status::archived));
    EXPECT_EQ(
        service.request("PATCH /api/v1/users/" + two, R"({"email":"ADA@example.com","id":77})")
            .code(),
        "validation_failed");
    EXPECT_EQ(
        service.request("PATCH /api/v1/posts/" + post, R"({"status":"published","user_id":77})")
            .code(),
        "validation_failed");
}

// The fourth way is read late, but the checks after it have the same order.
TEST_F(order, holds_for_a_key_in_the_body) {
    auto const ask_with = [&](std::string const& key, std::string_view line, lines const& fields) {
        return service.request_anonymous(line, R"({"no":1,"api_key":")" + key + "\"}", fields)
            .code();
    };
    lines const odd{"Accept: text/html", "Content-Type: text/plain"};
    lines const text{"Content-Type: text/plain"};
    auto const limited = key_of({}, {}).substr(bearer("").size());
    auto const narrow_key = service.add_key({"usage:read"});
    EXPECT_EQ(ask_with("x", "POST /nothing", odd), "key_invalid");
    EXPECT_EQ(ask_with(limited, "POST /nothing", odd), "rate_limited");
    EXPECT_EQ(ask_with(narrow_key, "POST /nothing", odd), "route_not_found");
    EXPECT_EQ(ask_with(narrow_key, "POST /api/v1/users/1", odd), "method_not_allowed");
    EXPECT_EQ(ask_with(narrow_key, "POST /api/v1/users", odd), "insufficient_scope");
    EXPECT_EQ(ask_with(service.key, "POST /api/v1/users?no=1", odd), "not_acceptable");
    EXPECT_EQ(ask_with(service.key, "POST /api/v1/users?no=1", text), "unsupported_media_type");
    EXPECT_EQ(ask_with(service.key, "POST /api/v1/users?no=1", {}), "invalid_parameter");
    EXPECT_EQ(ask_with(service.key, "POST /api/v1/users", {}), "validation_failed");
}

// Without a key the response is the same whether the route exists or not.
TEST_F(order, without_a_key_all_paths_look_alike) {
    auto const look_of = [](reply const& response) {
        auto text = response.head;
        auto const id = text.find("X-Request-Id: ");
        return text.erase(id, text.find("\r\n", id) - id);
    };
    for (std::string const method : {"GET ", "HEAD ", "POST ", "DELETE ", "OPTIONS ", "TRACE "}) {
        auto const nothing =
            look_of(service.request_anonymous(method + "/nothing", {}, {"X-Request-Id: 12345678"}));
        for (auto const* const path :
             {"/api/v1/users", "/users", "/users/1", "/posts/1", "/api/v1/users/1/posts"}) {
            EXPECT_EQ(
                look_of(service.request_anonymous(method + path, {}, {"X-Request-Id: 12345678"})),
                nothing)
                << method << path;
        }
    }
}

}  // namespace
}  // namespace latchkey::api
