#include "api/deprecation.hpp"

#include "api/route.hpp"
#include "tests/api/harness.hpp"

namespace latchkey::api {
namespace {

using deprecations = api_test;

constexpr std::string_view whole =
    "GET /api/v1/users since=2023-06-30T23:59:59Z sunset=2024-06-30T23:59:59Z "
    "link=https://example.com/why?a=b";

TEST_F(deprecations, are_told_in_every_answer_of_the_route_and_of_no_other) {
    at.rules.deprecations.push_back(parse_deprecation(whole).value());
    for (auto const* line : {"GET /api/v1/users", "HEAD /api/v1/users", "GET /users"}) {
        auto const answer = at.ask(line);
        EXPECT_EQ(answer.status, 200);
        // The dates of RFC 9745's and RFC 8594's own examples, as these write them.
        EXPECT_EQ(answer.field("Deprecation"), "@1688169599") << line;
        EXPECT_EQ(answer.field("Sunset"), "Sun, 30 Jun 2024 23:59:59 GMT");
        EXPECT_EQ(answer.links().at("deprecation"), "https://example.com/why?a=b");
    }
    EXPECT_EQ(at.ask("GET /api/v1/users?limit=x").field("Deprecation"), "@1688169599");
    EXPECT_EQ(at.ask("POST /api/v1/users", "{}").field("Deprecation"), "");
    EXPECT_EQ(at.ask("GET /api/v1/posts").field("Deprecation"), "");
}

TEST_F(deprecations, tell_nobody_without_a_key_that_a_route_exists) {
    at.rules.deprecations.push_back(parse_deprecation(whole).value());
    auto const answer = at.ask_bare("GET /api/v1/users");
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(answer.field("Deprecation"), "");
    EXPECT_EQ(answer.field("Sunset"), "");
}

TEST_F(deprecations, need_no_sunset_and_no_link_and_hold_for_open_routes) {
    at.rules.deprecations.push_back(
        parse_deprecation("GET /healthz since=2026-01-02T03:04:05+01:00").value());
    auto const answer = at.ask_bare("GET /healthz");
    EXPECT_EQ(answer.field("Deprecation"), "@1767319445");
    EXPECT_EQ(answer.field("Sunset"), "");
    EXPECT_EQ(answer.field("Link"), "");
}

TEST(deprecation_texts, that_are_wrong_are_refused_with_what_is_wrong) {
    auto const good = parse_deprecation(whole);
    ASSERT_TRUE(good);
    EXPECT_EQ(good->of->pattern, "/api/v1/users");
    for (auto const& [text, why] : {
             std::pair{"", "no method and path"},
             {"GET /api/v1/nothing since=2023-06-30T23:59:59Z", "no method and path"},
             {"get /api/v1/users since=2023-06-30T23:59:59Z", "no method and path"},
             {"PUT /api/v1/users since=2023-06-30T23:59:59Z", "no method and path"},
             {"GET /api/v1/users", "since= is missing"},
             {"GET /api/v1/users sunset=2023-06-30T23:59:59Z", "since= is missing"},
             {"GET /api/v1/users since=yesterday", "since=yesterday"},
             {"GET /api/v1/users since=2023-06-30T23:59:59Z link=javascript:x", "link="},
             {"GET /api/v1/users since=2023-06-30T23:59:59Z link=https://a>b", "link="},
             {"GET /api/v1/users since=2023-06-30T23:59:59Z until=2024-06-30T23:59:59Z", "until="},
             {"GET /api/v1/users since=2023-06-30T23:59:59Z sunset=2023-06-29T23:59:59Z",
              "before since"},
         }) {
        auto const made = parse_deprecation(text);
        ASSERT_FALSE(made) << text;
        EXPECT_NE(made.error().message.find(why), std::string::npos) << made.error().message;
    }
}

}  // namespace
}  // namespace latchkey::api
