// /auth for gateways (api.md §4), and GET /audit (§13).
#include "../harness.hpp"

namespace latchkey::api {
namespace {

class gateways : public api_test {};

TEST_F(gateways, are_told_the_key_and_its_project) {
    model::key record{.project = "shop", .rate_limits = {{"minute", 10, 60, 0}}};
    auto const key = service.add_key({"posts:*", "users:read"}, std::move(record));
    auto const response = service.request_anonymous("GET /auth", {}, {bearer(key)});
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "");
    EXPECT_EQ(response.field("X-Auth-Key-Id"), std::to_string(service.last_key()));
    EXPECT_EQ(response.field("X-Auth-Project"), "shop");
    EXPECT_EQ(response.field("X-Auth-Scopes"), "users:read posts:*");
    EXPECT_EQ(response.field("RateLimit-Policy"), R"("minute";q=10;w=60)");
    EXPECT_EQ(response.field("RateLimit"), R"("minute";r=9;t=54)");
}

TEST_F(gateways, send_any_method_and_the_fields_of_their_client) {
    lines const odd{"Accept: text/html", "Content-Type: text/plain", "Expect: a-miracle",
                    "If-Match: \"x\"", bearer(service.key)};
    for (auto const* const verb :
         {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"})
        EXPECT_EQ(service.request_anonymous(std::string(verb) + " /auth", "not json", odd).status,
                  200)
            << verb;
    EXPECT_FALSE(service.committed);
}

// Envoy appends the target of its client to a prefix.
TEST_F(gateways, may_append_the_target_of_their_client) {
    auto const key = service.add_key({"posts:*"});
    auto const ask = [&](std::string const& line) {
        return service.request_anonymous(line, {}, {bearer(key)});
    };
    EXPECT_EQ(ask("GET /auth/posts:read/things/7?scope=x&limit_status=403&%zz").status, 200);
    EXPECT_EQ(ask("DELETE /auth/posts:write/").status, 200);
    EXPECT_EQ(ask("GET /auth/posts:read").status, 200);
    EXPECT_EQ(ask("GET /auth/-/things").status, 200);
    EXPECT_EQ(ask("GET /auth/users:read/things").code(), "insufficient_scope");
    EXPECT_EQ(ask("GET /auth//things").code(), "invalid_parameter");
    EXPECT_EQ(ask("GET /auth/no:scope/things").code(), "invalid_parameter");
    EXPECT_EQ(ask("GET /authors").code(), "route_not_found");
    EXPECT_EQ(service.request_anonymous("GET /auth/-/things").status, 401);
}

TEST_F(gateways, pass_on_three_ways_of_credentials_and_not_the_body) {
    EXPECT_EQ(service.request_anonymous("GET /auth?api_key=" + service.key).status, 200);
    EXPECT_EQ(service.request_anonymous("GET /auth", {}, {"X-API-Key: " + service.key}).status,
              200);
    EXPECT_EQ(
        service.request_anonymous("POST /auth", R"({"api_key":")" + service.key + "\"}").code(),
        "key_missing");
    EXPECT_EQ(service.request_anonymous("GET /auth").status, 401);
    EXPECT_EQ(service.request_anonymous("GET /auth", {}, {bearer(auth::unknown_key())}).code(),
              "key_invalid");
}

TEST_F(gateways, ask_for_a_scope) {
    auto const key = bearer(service.add_key({"posts:*", "events:write:github"}));
    EXPECT_EQ(service.request_anonymous("GET /auth?scope=posts:write", {}, {key}).status, 200);
    EXPECT_EQ(service.request_anonymous("GET /auth?scope=events:write:github", {}, {key}).status,
              200);
    auto const lacks = service.request_anonymous("GET /auth?scope=users:read", {}, {key});
    EXPECT_EQ(lacks.code(), "insufficient_scope");
    EXPECT_EQ(lacks.field("WWW-Authenticate"),
              R"(Bearer realm="api", error="insufficient_scope", scope="users:read")");
    EXPECT_EQ(service.request_anonymous("GET /auth?scope=*", {}, {key}).status, 403);
    EXPECT_EQ(service.request_anonymous("GET /auth?scope=a%0d%0ab", {}, {key}).code(),
              "invalid_parameter");
    EXPECT_EQ(service.request_anonymous("GET /auth?other=1", {}, {key}).code(),
              "invalid_parameter");
}

TEST_F(gateways, are_refused_by_a_limit_with_a_status_that_they_accept) {
    auto const key = bearer(service.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}}));
    service.exhaust();
    EXPECT_EQ(service.request_anonymous("GET /auth", {}, {key}).code(), "rate_limited");
    auto const masked = service.request_anonymous("GET /auth?limit_status=403", {}, {key});
    EXPECT_EQ(masked.status, 403);
    EXPECT_EQ(masked.field("X-Auth-Status"), "429");
    EXPECT_NE(masked.field("Retry-After"), "");
    EXPECT_EQ(masked.fields("RateLimit").size(), 1u);
    EXPECT_EQ(service.request_anonymous("GET /auth?limit_status=429", {}, {key}).status, 429);
    EXPECT_EQ(service.request("GET /auth?limit_status=403").status, 200);
    EXPECT_EQ(service.request("GET /auth?limit_status=500").code(), "invalid_parameter");
    EXPECT_EQ(service.request_anonymous("GET /auth?limit_status=403").status, 401);
}

TEST_F(api_test, audit_entries_name_the_caller_and_its_address) {
    auto const response = service.request("POST /api/v1/keys", R"({"name":"n"})");
    auto const id = std::to_string(response.id());
    service.request("PATCH /api/v1/keys/" + id, R"({"name":"m","scopes":["users:read"]})");
    auto const log = service.request("GET /api/v1/audit");
    EXPECT_EQ(log.status, 200);
    EXPECT_EQ(log.at("/pagination/total"), "3");
    EXPECT_EQ(log.at("/data/0/action") + log.at("/data/0/actor_key_id"), "\"key.create\"null");
    EXPECT_EQ(log.at("/data/0/address"), "null");
    EXPECT_EQ(log.at("/data/2/action"), "\"key.change\"");
    EXPECT_EQ(log.at("/data/2/actor_key_id"), "1");
    EXPECT_EQ(log.at("/data/2/key_id"), id);
    EXPECT_EQ(log.at("/data/2/address"), "\"203.0.113.7\"");
    EXPECT_EQ(log.at("/data/2/fields"), R"(["name","scopes"])");
    EXPECT_EQ(log.at("/data/2/previous_hash"), log.at("/data/1/hash"));
    EXPECT_EQ(log.at("/data/2/hash").size(), 66u);
    auto const last = service.request("GET /api/v1/audit?limit=1&sort=-id");
    EXPECT_EQ(last.at("/data/0/id"), "3");
    EXPECT_EQ(service.request("GET /api/v1/audit?project=none").at("/pagination/total"), "0");
    EXPECT_EQ(service.request("GET /api/v1/audit?project=A").code(), "invalid_parameter");
    EXPECT_EQ(service.request("POST /api/v1/audit").code(), "method_not_allowed");
}

}  // namespace
}  // namespace latchkey::api
