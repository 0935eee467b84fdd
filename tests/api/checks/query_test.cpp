// Query parameters (api.md §1): unknown and repeated ones are refused on every route.
#include "api/checks/query.hpp"

#include "harness.hpp"

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
        {"DELETE /api/v1/posts/1", ""},    {"GET /healthz", ""},
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
    for (std::string const query : {"limit=%", "limit=%1", "limit=%zz", "%=1", "email=%00"})
        EXPECT_EQ(service.request("GET /api/v1/users?" + query).code(), "invalid_parameter")
            << query;
}

// The document quotes the client's text and must stay valid JSON.
TEST_F(api_test, names_come_back_escaped) {
    EXPECT_EQ(service.request("GET /api/v1/users?%22%5c%0a=1").faults(),
              (faults{{"\"\\\n", "unknown_field"}}));
    EXPECT_EQ(service.request("GET /api/v1/users?%ff=1").faults(),
              (faults{{"\xef\xbf\xbd", "unknown_field"}}));
}

TEST_F(api_test, more_parameters_than_there_can_be) {
    std::string query = "?p0";
    for (int i = 1; i < 400; ++i) query += "&p" + std::to_string(i);
    EXPECT_EQ(service.request("GET /api/v1/users" + query).code(), "invalid_parameter");
}

TEST(query, is_decoded_each_parameter_once) {
    query one;
    ASSERT_FALSE(one.parse("a=x+y%2Bz&b=&c&api_key=secret&d=%26%3D"));
    EXPECT_EQ(one.take("a"), "x y+z");
    EXPECT_EQ(one.take("b"), "");
    EXPECT_EQ(one.take("c"), "");
    EXPECT_EQ(one.take("api_key"), std::nullopt);
    EXPECT_TRUE(one.refuse_rest());
    EXPECT_EQ(one.take("d"), "&=");
    EXPECT_FALSE(one.refuse_rest());
    ASSERT_FALSE(one.parse(""));
    EXPECT_EQ(one.take("a"), std::nullopt) << "that of the query before";
}

}  // namespace
}  // namespace latchkey::api
