// What is no credential but looks like one is named in the 401 (api.md §2), and never repeated.
#include "../../harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view user_list = "GET /api/v1/users";

TEST_F(api_test, a_credential_of_another_form_is_named) {
    auto const secret = service.key;
    std::pair<std::string, std::string_view> const rows[] = {
        {"Authorization: " + secret, "Authorization has one word and no scheme"},
        {"Authorization: Basic " + secret, "has the scheme Basic"},
        {"Authorization: token " + secret, "has the scheme Token"},
        {"Authorization: ApiKey " + secret, "has the scheme ApiKey"},
        {"Authorization: Digest username=\"" + secret + "\"", "has the scheme Digest"},
        {"Authorization: " + secret + " " + secret, "a scheme that is not read here"},
        {"Authorization: Bearer:" + secret, "no scheme"},
        {"Authorization:", "Authorization is empty"},
        {"Api-Key: " + secret, "not read from Api-Key. Send it as X-API-Key"},
        {"x-auth-token: " + secret, "not read from X-Auth-Token"},
        {"Content-Type: application/x-www-form-urlencoded; charset=utf-8", "A form is not read"},
        {"Accept: */*", "The request has no API key. Send it"},
    };
    for (auto const& [field, sentence] : rows) {
        auto const response = service.request_anonymous(user_list, {}, {field});
        EXPECT_EQ(response.code(), "key_missing") << field;
        EXPECT_NE(response.at("/detail").find(sentence), std::string::npos) << response.body;
        EXPECT_EQ(response.body.find(secret), std::string::npos) << field;
        EXPECT_EQ(response.field("WWW-Authenticate"), R"(Bearer realm="api")");
    }
}

TEST_F(api_test, a_form_body_is_named_where_a_body_is_read_for_a_key) {
    auto const response =
        service.request_anonymous("POST /api/v1/users", "api_key=" + service.key + "&name=Ada",
                                  {"Content-Type: application/x-www-form-urlencoded"});
    EXPECT_EQ(response.code(), "key_missing");
    EXPECT_NE(response.at("/detail").find("A form is not read"), std::string::npos);
    auto const basic = service.request_anonymous("POST /api/v1/users", R"({"name":"Ada"})",
                                                 {"Authorization: Basic " + service.key});
    EXPECT_NE(basic.at("/detail").find("has the scheme Basic"), std::string::npos) << basic.body;
}

TEST_F(api_test, a_key_in_the_query_is_named_where_that_is_switched_off) {
    service.settings.allow_query = false;
    auto const response = service.request_anonymous("GET /api/v1/users?api_key=" + service.key);
    EXPECT_EQ(response.code(), "key_missing");
    EXPECT_NE(response.at("/detail").find("Keys in the query are not read here"),
              std::string::npos);
    EXPECT_EQ(service.request_anonymous("GET /auth", {}, {"Authorization: Token x"})
                  .at("/detail")
                  .find("\"Authorization has the scheme Token"),
              0u);
}

}  // namespace
}  // namespace latchkey::api
