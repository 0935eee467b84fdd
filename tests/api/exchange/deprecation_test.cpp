#include "api/exchange/deprecation.hpp"

#include "api/frame/route.hpp"
#include "tests/api/harness.hpp"

namespace latchkey::api {
namespace {

using deprecations = api_test;

constexpr std::string_view whole =
    "GET /api/v1/users since=2023-06-30T23:59:59Z sunset=2024-06-30T23:59:59Z "
    "link=https://example.com/why?a=b";

TEST_F(deprecations, are_announced_in_every_response_of_the_route_and_of_no_other) {
    service.settings.deprecations.push_back(parse_deprecation(whole).value());
    for (auto const* line : {"GET /api/v1/users", "HEAD /api/v1/users", "GET /users"}) {
        auto const answer = service.request(line);
        EXPECT_EQ(answer.status, 200);
        // The dates of the examples of RFC 9745 and RFC 8594.
        EXPECT_EQ(answer.field("Deprecation"), "@1688169599") << line;
        EXPECT_EQ(answer.field("Sunset"), "Sun, 30 Jun 2024 23:59:59 GMT");
        EXPECT_EQ(answer.links().at("deprecation"), "https://example.com/why?a=b");
    }
    EXPECT_EQ(service.request("GET /api/v1/users?limit=x").field("Deprecation"), "@1688169599");
    EXPECT_EQ(service.request("POST /api/v1/users", "{}").field("Deprecation"), "");
    EXPECT_EQ(service.request("GET /api/v1/posts").field("Deprecation"), "");
}

TEST_F(deprecations, are_hidden_from_clients_without_a_key) {
    service.settings.deprecations.push_back(parse_deprecation(whole).value());
    auto const answer = service.request_anonymous("GET /api/v1/users");
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(answer.field("Deprecation"), "");
    EXPECT_EQ(answer.field("Sunset"), "");
}

TEST_F(deprecations, need_no_sunset_and_no_link_and_apply_to_public_routes) {
    service.settings.deprecations.push_back(
        parse_deprecation("GET /healthz since=2026-01-02T03:04:05+01:00").value());
    auto const answer = service.request_anonymous("GET /healthz");
    EXPECT_EQ(answer.field("Deprecation"), "@1767319445");
    EXPECT_EQ(answer.field("Sunset"), "");
    EXPECT_EQ(answer.field("Link"), "");
}

TEST(deprecation_texts, that_are_invalid_are_refused_with_a_reason) {
    auto const good = parse_deprecation(whole);
    ASSERT_TRUE(good);
    EXPECT_EQ(good->target->pattern, "/api/v1/users");
    for (auto const& [text, why] : {
             std::pair{"", "does not begin with a method and a path"},
             {"GET /api/v1/nothing since=2023-06-30T23:59:59Z",
              "does not begin with a method and a path"},
             {"get /api/v1/users since=2023-06-30T23:59:59Z",
              "does not begin with a method and a path"},
             {"PUT /api/v1/users since=2023-06-30T23:59:59Z",
              "does not begin with a method and a path"},
             {"GET /api/v1/users", "since= is missing"},
             {"GET /api/v1/users sunset=2023-06-30T23:59:59Z", "since= is missing"},
             {"GET /api/v1/users since=yesterday", "since=yesterday"},
             {"GET /api/v1/users since=2023-06-30T23:59:59Z link=javascript:x", "link="},
             {"GET /api/v1/users since=2023-06-30T23:59:59Z link=https://a>b", "link="},
             {"GET /api/v1/users since=2023-06-30T23:59:59Z until=2024-06-30T23:59:59Z", "until="},
             {"GET /api/v1/users since=2023-06-30T23:59:59Z sunset=2023-06-29T23:59:59Z",
              "before since"},
         }) {
        auto const result = parse_deprecation(text);
        ASSERT_FALSE(result) << text;
        EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
    }
}

}  // namespace
}  // namespace latchkey::api
