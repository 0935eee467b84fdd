// Requests as programs. That they run is tested end to end (tests/e2e/docs/docs_samples.test.mjs).
#include "api/docs/samples.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "api/docs/json_text.hpp"

namespace latchkey::api {
namespace {

TEST(samples, of_a_read) {
    sample_request const request{.method = "GET", .path = "/api/v1/users"};
    EXPECT_EQ(curl_sample(request),
              "curl -sS \"$LATCHKEY_URL/api/v1/users\" \\\n"
              "  -H \"Authorization: Bearer $LATCHKEY_KEY\"\n");
    EXPECT_NE(typescript_sample(request).find("/api/v1/users\", {\n  headers: {"),
              std::string::npos);
    EXPECT_NE(python_sample(request).find("requests.get("), std::string::npos);
    EXPECT_NE(go_sample(request).find("NewRequest(\"GET\""), std::string::npos);
}

TEST(samples, quote_the_body_as_the_language_does) {
    sample_request const request{
        .method = "PATCH",
        .path = "/x",
        .has_key = false,
        .body = boost::json::parse(R"({"a": "it's", "b": true, "c": null, "d": []})"),
        .answers_json = false};
    auto const curl = curl_sample(request);
    EXPECT_TRUE(curl.starts_with("curl -sS -X PATCH \"$LATCHKEY_URL/x\" \\\n  --json '{"));
    EXPECT_NE(curl.find(R"("it'\''s")"), curl.npos);
    EXPECT_EQ(curl.find("Authorization"), curl.npos);
    EXPECT_NE(python_sample(request).find("\"b\": True,\n        \"c\": None,"), std::string::npos);
    EXPECT_NE(go_sample(request).find("strings.NewReader(`{\n"), std::string::npos);
    EXPECT_NE(typescript_sample(request).find("console.log(response.status)"), std::string::npos);
}

TEST(samples, indent_json) {
    auto const value = boost::json::parse(R"({"a": [1, "b"], "c": [{"d": {}}], "e": []})");
    EXPECT_EQ(indented(value),
              "{\n  \"a\": [1, \"b\"],\n  \"c\": [\n    {\n      \"d\": {}\n    }\n  ],\n"
              "  \"e\": []\n}");
}

}  // namespace
}  // namespace latchkey::api
