// Query parameters (api.md §1): unknown and repeated ones are refused on every route.
#include "api/frame/checks/query.hpp"

#include "../../harness.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;

TEST_F(api_test, unknown_parameters_are_refused_on_every_route) {
    auto const id = std::to_string(service.add_user());
    service.add_post(1);
    auto const user = R"({"name":"A","email":"a@b.c"})";
    auto const post = R"({"user_id":1,"title":"t"})";
    std::pair<std::string, std::string> const rows[] = {
        {"GET /api/v1/users", ""},         {"GET /api/v1/users/1", ""},
        {"GET /api/v1/users/1/posts", ""}, {"GET /api/v1/posts", ""},
        {"GET /api/v1/posts/1", ""},       {"POST /api/v1/users", user},
        {"POST /api/v1/posts", post},      {"PUT /api/v1/users/1", user},
        {"PATCH /api/v1/posts/1", "{}"},   {"DELETE /api/v1/users/1", ""},
        {"DELETE /api/v1/posts/1", ""},    {"GET /openapi.json", ""},
    };
    for (auto const& [line, body] : rows) {
        auto const response = service.request(line + "?nothing=1", body);
        EXPECT_EQ(response.status, 400) << line;
        EXPECT_EQ(response.code(), "invalid_parameter");
        EXPECT_EQ(response.faults(), (faults{{"nothing", "unknown_field"}}));
        EXPECT_EQ(service.request(line + "?a=1&a=2", body).code(), "invalid_parameter") << line;
        EXPECT_FALSE(service.committed);
    }
}

// Probes add what they like.
TEST_F(api_test, the_health_check_ignores_its_query) {
    for (std::string const query : {"ts=1", "ts=1&ts=2", "%", "limit=-1"})
        EXPECT_EQ(service.request_anonymous("GET /healthz?" + query).status, 200) << query;
}

TEST_F(api_test, a_plus_sign_that_is_not_encoded_is_named) {
    for (std::string const target :
         {"/keys?unused_since=", "/keys/1/usage?to=", "/usage?to=", "/audit?from="}) {
        auto const line = "GET /api/v1" + target + "2026-01-02T03:04:05+02:00";
        EXPECT_NE(service.request(line).at("/errors/0/detail").find("%2B"), std::string::npos);
        EXPECT_EQ(
            service.request("GET /api/v1" + target + "monday").at("/errors/0/detail").find("%2B"),
            std::string::npos);
        EXPECT_EQ(service.request("GET /api/v1" + target + "2026-01-02T03:04:05%2B02:00").status,
                  200)
            << target;
    }
}

TEST_F(api_test, a_parameter_comes_once) {
    for (std::string const query : {"limit=1&limit=1", "limit=1&page=1&limit=2", "page&page",
                                    "page=1&p%61ge=1", "limit=1&&limit=1"}) {
        auto const response = service.request("GET /api/v1/users?" + query);
        EXPECT_EQ(response.code(), "invalid_parameter") << query;
        EXPECT_EQ(response.faults().size(), 1u);
    }
    EXPECT_EQ(service.request("GET /api/v1/users?limit=1&&page=1&").status, 200);
    EXPECT_EQ(service.request("GET /api/v1/users?").status, 200);
    EXPECT_EQ(service.request("GET /api/v1/users?l%69mit=%31").at("/pagination/limit"), "1");
}

TEST_F(api_test, broken_percent_encoding_is_refused) {
    for (std::string const query :
         {"limit=%", "limit=%1", "limit=%zz", "%=1", "email=%00", "email=%ff", "email=a%c0%af",
          "email=%ed%a0%80", "%ff=1", "cursor=%80", "sort=%f5%80%80%80"})
        EXPECT_EQ(service.request("GET /api/v1/users?" + query).code(), "invalid_parameter")
            << query;
}

// The document quotes the client's text and must stay valid JSON.
TEST_F(api_test, names_come_back_escaped) {
    EXPECT_EQ(service.request("GET /api/v1/users?%22%5c%0a=1").faults(),
              (faults{{"\"\\\n", "unknown_field"}}));
    EXPECT_EQ(service.request("GET /api/v1/users?%ff=1").faults(),
              (faults{{"query", "invalid_format"}}));
    EXPECT_EQ(service.request("GET /api/v1/users?%c3%a9=1").faults(),
              (faults{{"\xc3\xa9", "unknown_field"}}));
    for (std::string const target :
         {"posts?status=", "keys?start=", "changes?type=", "usage?from=", "events?source=",
          "audit?project=", "keys?unused_since=", "users?search=", "keys?search=", "audit?action="})
        EXPECT_EQ(service.request("GET /api/v1/" + target + "%ff").code(), "invalid_parameter")
            << target;
    EXPECT_EQ(service.request("GET /auth?scope=%ff").code(), "invalid_parameter");
}

TEST_F(api_test, more_parameters_than_there_can_be) {
    std::string query = "?p0";
    for (int i = 1; i < 400; ++i) query += "&p" + std::to_string(i);
    EXPECT_EQ(service.request("GET /api/v1/users" + query).code(), "invalid_parameter");
}

TEST(query, is_decoded_each_parameter_once) {
    query one;
    one.parse("a=x+y%2Bz&b=&c&api_key=secret&d=%26%3D");
    EXPECT_EQ(one.take("a"), "x y+z");
    EXPECT_EQ(one.take("b"), "");
    EXPECT_EQ(one.take("c"), "");
    EXPECT_EQ(one.take("api_key"), std::nullopt);
    EXPECT_TRUE(one.refuse_rest());
    EXPECT_EQ(one.take("d"), "&=");
    EXPECT_FALSE(one.refuse_rest());
    one.parse("");
    EXPECT_EQ(one.take("a"), std::nullopt) << "that of the query before";
}

// All that is wrong comes at once, each parameter once, and the detail says it in words.
TEST_F(api_test, wrong_parameters_come_together) {
    std::pair<std::string, faults> const rows[] = {
        {"/posts?limit=0&page=x&sort=up&status=new&user_id=a&nothing=1&nothing=2",
         {{"limit", "invalid_format"},
          {"page", "invalid_format"},
          {"sort", "not_in_enum"},
          {"status", "not_in_enum"},
          {"user_id", "invalid_format"},
          {"nothing", "invalid_format"}}},
        {"/keys?state=gone&environment=moon&start=short&unused_since=now&project=A&more=1",
         {{"state", "not_in_enum"},
          {"environment", "not_in_enum"},
          {"start", "invalid_format"},
          {"unused_since", "invalid_format"},
          {"project", "invalid_format"},
          {"more", "unknown_field"}}},
        {"/usage?from=a&to=b&granularity=year&top=0",
         {{"from", "invalid_format"},
          {"to", "invalid_format"},
          {"granularity", "not_in_enum"},
          {"top", "out_of_range"}}},
        {"/changes?after=x&type=none&limit=0&before=1",
         {{"after", "invalid_format"},
          {"type", "not_in_enum"},
          {"limit", "out_of_range"},
          {"before", "unknown_field"}}},
        {"/audit?project=A&page=0", {{"project", "invalid_format"}, {"page", "invalid_format"}}},
        {"/audit?action=key.created&key=0&from=now&to=later&search=a",
         {{"action", "not_in_enum"},
          {"key", "invalid_format"},
          {"from", "invalid_format"},
          {"to", "invalid_format"},
          {"search", "unknown_field"}}},
        {"/audit?from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z", {{"from", "out_of_range"}}},
        {"/users?search=&limit=0", {{"search", "too_short"}, {"limit", "invalid_format"}}},
        {"/keys?search=" + std::string(101, 'a'), {{"search", "too_long"}}},
        {"/posts?search=a", {{"search", "unknown_field"}}},
        {"/events?source=A&sort=1", {{"source", "invalid_format"}, {"sort", "not_in_enum"}}},
        {"/users/1?include=keys&x=%", {{"include", "not_in_enum"}, {"x", "invalid_format"}}},
    };
    for (auto const& [path, expected] : rows) {
        auto const response = service.request("GET /api/v1" + path);
        EXPECT_EQ(response.code(), "invalid_parameter") << path;
        EXPECT_EQ(response.faults(), expected) << path;
    }
    EXPECT_EQ(service.request("GET /api/v1/users?limit=0&sort=up").at("/detail"),
              R"("`limit` must be a whole number from 1. `sort` must be id or -id.")");
    auto const gateway = service.request("GET /auth?scope=everything&limit_status=400");
    EXPECT_EQ(gateway.faults(),
              (faults{{"scope", "not_in_enum"}, {"limit_status", "not_in_enum"}}));
    EXPECT_NE(gateway.at("/detail").find("scopes are users:read, "), std::string::npos);
}

}  // namespace
}  // namespace latchkey::api
