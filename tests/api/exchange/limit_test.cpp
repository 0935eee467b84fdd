// Rate limits over HTTP (api.md §10): header fields, refusals, charges.
#include "../harness.hpp"

namespace latchkey::api {
namespace {

class limited : public api_test {
  protected:
    reply request(std::string_view line = "GET /api/v1/users", std::string_view body = {}) {
        return service.request_anonymous(line, body, {bearer(key)});
    }
    std::string key = service.add_key(
        {"users:read"}, {.rate_limits = {{"minute", 2, 60, 0}, {"hour", 100, 3600, 0}}});
};

TEST_F(limited, headers_show_the_remaining_tokens) {
    auto const first = request();
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ(first.fields("RateLimit-Policy"), lines{R"("minute";q=2;w=60, "hour";q=100;w=3600)"});
    EXPECT_EQ(first.fields("RateLimit"), lines{R"("minute";r=1;t=30, "hour";r=99;t=3564)"});
    EXPECT_EQ(first.field("Retry-After"), "");
    EXPECT_EQ(request().field("RateLimit"), R"("minute";r=0;t=30, "hour";r=98;t=3528)");
    service.advance(30'000);
    EXPECT_EQ(request().field("RateLimit"), R"("minute";r=0;t=30, "hour";r=97;t=3492)");
    service.advance(3'600'000);
    EXPECT_EQ(request().field("RateLimit"), R"("minute";r=1;t=30, "hour";r=99;t=3564)");
}

TEST_F(limited, a_refusal_has_the_time_and_the_reason) {
    request(), request();
    auto const refusal = request();
    EXPECT_EQ(refusal.status, 429);
    EXPECT_EQ(refusal.code(), "rate_limited");
    EXPECT_EQ(refusal.fields("Retry-After"), lines{"30"});
    EXPECT_EQ(refusal.at("/violated_policies"), R"(["minute"])");
    EXPECT_EQ(refusal.at("/violated-policies"), R"(["minute"])");
    EXPECT_NE(refusal.field("RateLimit-Policy"), "");
    // The other limit was not charged.
    EXPECT_EQ(refusal.field("RateLimit"), R"("minute";r=0;t=30, "hour";r=98;t=3528)");
    service.advance(29'001);
    EXPECT_EQ(request().fields("Retry-After"), lines{"1"});
    service.advance(998);
    EXPECT_EQ(request().status, 429);
    service.advance(1);
    EXPECT_EQ(request().status, 200);
}

TEST_F(limited, all_violated_limits_are_named) {
    key = service.add_key({"*"},
                          {.rate_limits = {{"a", 1, 10, 0}, {"b", 9, 60, 0}, {"c", 1, 60, 0}}});
    EXPECT_EQ(request().status, 200);
    auto const refusal = request();
    EXPECT_EQ(refusal.at("/violated_policies"), R"(["a","c"])");
    EXPECT_EQ(refusal.field("Retry-After"), "60");
}

TEST_F(limited, a_burst_is_what_the_bucket_holds) {
    key = service.add_key({"*"}, {.rate_limits = {{"minute", 60, 60, 3}}});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(request().status, 200);
    auto const refusal = request();
    EXPECT_EQ(refusal.field("Retry-After"), "1");
    EXPECT_EQ(refusal.field("RateLimit-Policy"), R"("minute";q=60;w=60;latchkey-burst=3)");
    EXPECT_EQ(refusal.field("RateLimit"), R"("minute";r=0;t=1)");
}

// A client that waits for `t` waits as long as Retry-After says, however slowly a bucket fills.
TEST_F(limited, an_empty_bucket_tells_when_it_has_a_token) {
    key = service.add_key({"*"}, {.rate_limits = {{"hour", 20'000, 3600, 2}}});
    request();
    EXPECT_EQ(request().field("RateLimit"), R"("hour";r=0;t=1)");
    auto const refusal = request();
    EXPECT_EQ(refusal.field("RateLimit"), R"("hour";r=0;t=1)");
    EXPECT_EQ(refusal.field("Retry-After"), "1");
    service.advance(1000);
    EXPECT_EQ(request().status, 200);
}

TEST_F(limited, a_successor_takes_over_the_level) {
    key = service.add_key({"keys:write", "users:read"},
                          {.rate_limits = {{"hour", 5, 3600, 0}, {"day", 9, 86'400, 0}}});
    EXPECT_EQ(request().status, 200);
    // Two rotations, and the key between them is not used.
    auto const first = service.request("POST /api/v1/keys/3/rotate");
    auto const second = service.request("POST /api/v1/keys/4/rotate");
    ASSERT_EQ(second.status, 201) << second.body;
    EXPECT_EQ(request().field("RateLimit"), R"("hour";r=3;t=2160, "day";r=7;t=67200)");
    auto const text = [](reply const& response) {
        auto const json = response.at("/key");
        return json.substr(1, json.size() - 2);
    };
    key = text(second);
    EXPECT_EQ(request().field("RateLimit"), R"("hour";r=2;t=1440, "day";r=6;t=57600)");
    // From then on each has its own.
    service.advance(3'600'000);
    EXPECT_EQ(request().field("RateLimit"), R"("hour";r=4;t=2880, "day";r=5;t=48000)");
    key = text(first);
    EXPECT_EQ(request().field("RateLimit"), R"("hour";r=4;t=2880, "day";r=6;t=57600)");
}

// Whatever the response, once the key is accepted.
TEST_F(limited, every_admitted_request_is_charged) {
    struct {
        std::string_view line;
        int status;
    } const rows[] = {
        {"GET /api/v1/users", 200},     {"GET /api/v1/users/9", 404},   {"GET /nothing", 404},
        {"DELETE /api/v1/users", 405},  {"POST /api/v1/users", 403},    {"HEAD /api/v1/users", 200},
        {"OPTIONS /api/v1/users", 204}, {"GET /api/v1/users?x=1", 400},
    };
    for (auto const& row : rows) {
        service.advance(4'000'000);
        auto const response = request(row.line);
        EXPECT_EQ(response.status, row.status) << row.line;
        EXPECT_EQ(response.field("RateLimit"), R"("minute";r=1;t=30, "hour";r=99;t=3564)")
            << row.line;
        EXPECT_EQ(response.fields("RateLimit-Policy").size(), 1u);
    }
    key = service.add_key({"*"}, {.rate_limits = {{"minute", 10, 60, 0}}});
    EXPECT_EQ(request("POST /api/v1/users", R"({"name":"A","email":"a@b.c"})").field("RateLimit"),
              R"("minute";r=9;t=54)");
    EXPECT_EQ(request("POST /api/v1/users", "{").field("RateLimit"), R"("minute";r=8;t=48)");
    EXPECT_EQ(request("DELETE /api/v1/users/1").field("RateLimit"), R"("minute";r=7;t=42)");
}

TEST_F(limited, a_request_that_is_not_admitted_is_not_charged) {
    service.settings.trusted_proxies.clear();
    request();
    service.peer.tls = false;
    EXPECT_EQ(request().code(), "https_required");
    EXPECT_EQ(request().field("RateLimit"), "");
    service.peer.tls = true;
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {bearer(key), bearer(key)})
                  .field("RateLimit"),
              "");
    EXPECT_EQ(request().status, 200);
    EXPECT_EQ(request().status, 429);
}

TEST_F(limited, a_key_is_charged_once_in_whichever_way_it_was_sent) {
    key = service.add_key({"*"}, {.rate_limits = {{"minute", 60, 60, 0}}});
    auto const body = R"({"name":"A","email":"a@b.c","api_key":")" + key + "\"}";
    EXPECT_EQ(service.request_anonymous("POST /api/v1/users", body).field("RateLimit"),
              R"("minute";r=59;t=59)");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users?api_key=" + key).field("RateLimit"),
              R"("minute";r=58;t=58)");
}

TEST_F(limited, keys_have_limits_of_their_own) {
    request(), request();
    EXPECT_EQ(request().status, 429);
    key = service.add_key({"*"}, {.rate_limits = {{"minute", 2, 60, 0}}});
    EXPECT_EQ(request().status, 200);
}

TEST_F(limited, an_unlimited_key_has_no_such_fields) {
    for (auto const* const line : {"GET /api/v1/users", "GET /nothing", "OPTIONS /api/v1/users"}) {
        auto const response = service.request(line);
        EXPECT_EQ(response.field("RateLimit"), "");
        EXPECT_EQ(response.field("RateLimit-Policy"), "");
    }
    // Neither does the request after a limited one on the same connection.
    EXPECT_NE(request().field("RateLimit"), "");
    EXPECT_EQ(service.request("GET /api/v1/users").field("RateLimit"), "");
    EXPECT_EQ(service.request("GET /healthz").field("RateLimit"), "");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users").field("RateLimit"), "");
}

TEST_F(limited, the_limits_of_a_new_key) {
    key = service.add_key({"*"}, {});
    EXPECT_EQ(request().field("RateLimit-Policy"), R"("minute";q=600;w=60, "hour";q=20000;w=3600)");
}

}  // namespace
}  // namespace latchkey::api
