// The fate of a received key (api.md §2, §4): no handler sees it, and its bytes are overwritten
// after they are hashed. The fixture checks that no reply shows one.
#include "../harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view users = "/api/v1/users";

bool holds(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

TEST_F(api_test, the_handler_does_not_see_the_query_parameter) {
    for (bool const allowed : {true, false}) {
        service.settings.allow_query = allowed;
        for (std::string const query : {"?api_key=x", "?limit=1&%61pi_key=x&page=1"})
            EXPECT_EQ(service.request("GET " + std::string(users) + query).status, 200) << query;
        EXPECT_EQ(service.request("GET /api/v1/users?api_key=x&no=1").faults(),
                  (std::map<std::string, std::string>{{"no", "unknown_field"}}));
    }
}

TEST_F(api_test, the_handler_does_not_see_the_member) {
    for (bool const allowed : {true, false}) {
        service.settings.allow_body = allowed;
        auto const email = std::string(allowed ? "a" : "b") + "@example.com";
        auto const response = service.request(
            "POST /api/v1/users", R"({"api_key":"x","name":"Ada","email":")" + email + "\"}");
        EXPECT_EQ(response.status, 201);
        EXPECT_EQ(response.at("/api_key"), "");
        auto const nested = service.request(
            "POST /api/v1/users", R"({"name":{"api_key":"x"},"email":"c@x.y","api_key":{}})");
        EXPECT_EQ(nested.faults(), (std::map<std::string, std::string>{{"/name", "invalid_type"}}));
    }
}

TEST_F(api_test, links_do_not_contain_the_key) {
    for (int i = 0; i < 3; ++i) service.add_user();
    auto const response =
        service.request_anonymous("GET /users?limit=1&api_key=" + service.key + "&page=2");
    EXPECT_EQ(response.links().at("next"), "/api/v1/users?page=3&limit=1");
    EXPECT_EQ(response.links().at("canonical"), "/api/v1/users");
}

TEST_F(api_test, the_request_is_wiped_once_the_key_was_looked_up) {
    std::string coded;
    for (char const byte : service.key) coded += (byte == 'l' ? "%6C" : std::string(1, byte));
    struct {
        std::string line;
        lines fields;
    } const rows[] = {
        {"GET /api/v1/users", {bearer(service.key)}},
        {"GET /api/v1/users", {"authorization:   bEARER   " + service.key + "  "}},
        {"GET /api/v1/users", {"X-API-Key: " + service.key}},
        {"GET /api/v1/users?api_key=" + service.key, {}},
        {"GET /api/v1/users?limit=1&%61pi_key=" + service.key + "&page=1", {}},
        {"GET /api/v1/users?api_key=" + coded, {}},
        // All ways at once, whichever decides and whatever the response is.
        {"GET /api/v1/users?api_key=" + service.key,
         {bearer(service.key), "X-API-Key: " + service.key}},
        {"GET /nothing?api_key=" + service.key, {bearer(service.key), "X-API-Key: " + service.key}},
        {"GET /nothing?api_key=" + service.key, {bearer("x")}},
    };
    for (auto const& row : rows) {
        service.request_anonymous(row.line, {}, row.fields);
        EXPECT_FALSE(holds(service.buffer, service.key)) << service.buffer;
        EXPECT_FALSE(holds(service.buffer, service.key.substr(1, 30))) << service.buffer;
        EXPECT_FALSE(holds(service.buffer, service.key.substr(20))) << service.buffer;
    }
}

TEST_F(api_test, a_refused_key_is_wiped_too) {
    auto const unknown = auth::unknown_key();
    auto const expired = service.add_key({"*"}, {.expires_at = 1});
    for (auto const& key : {unknown, expired}) {
        service.request_anonymous("GET /api/v1/users?api_key=" + key, {},
                                  {bearer(key), "X-API-Key: " + key});
        EXPECT_FALSE(holds(service.buffer, key)) << service.buffer;
    }
}

TEST_F(api_test, switching_the_query_off_does_not_keep_its_key) {
    service.settings.allow_query = false;
    service.request("GET /api/v1/users?api_key=" + service.key);
    EXPECT_FALSE(holds(service.buffer, service.key)) << service.buffer;
    for (std::string const path : {"/api/v1/users", "/auth"}) {
        EXPECT_EQ(service.request_anonymous("GET " + path + "?api_key=" + service.key).code(),
                  "key_missing");
        EXPECT_FALSE(holds(service.buffer, service.key)) << service.buffer;
    }
}

TEST_F(api_test, a_key_that_is_not_used_is_wiped) {
    struct {
        std::string line;
        lines fields;
        std::string_view code;
    } const rows[] = {
        {"GET /healthz?api_key=" + service.key,
         {bearer(service.key), "X-API-Key: " + service.key},
         ""},
        {"GET /problems/none?api_key=" + service.key, {bearer(service.key)}, "route_not_found"},
        {"GET /api/v1/users?api_key=" + service.key + "&api_key=" + service.key,
         {},
         "duplicate_credentials"},
        {"GET /nothing", {bearer(service.key), bearer(service.key)}, "duplicate_credentials"},
        {"GET /auth", {"X-API-Key: " + service.key, "X-API-Key: x"}, "duplicate_credentials"},
    };
    for (auto const& row : rows) {
        EXPECT_EQ(service.request_anonymous(row.line, {}, row.fields).code(), row.code);
        EXPECT_FALSE(holds(service.buffer, service.key)) << service.buffer;
    }
    service.peer = {.tls = false, .local = false, .client = model::address::parse("203.0.113.7")};
    EXPECT_EQ(service.request("GET /api/v1/users?api_key=" + service.key).code(), "https_required");
    EXPECT_FALSE(holds(service.buffer, service.key)) << service.buffer;
}

TEST_F(api_test, a_body_that_names_two_keys_is_wiped) {
    auto const member = R"("api_key":")" + service.key + '"';
    for (auto const& body :
         {"{" + member + "," + member + "}", "{" + member + "," + member + ",{["}) {
        EXPECT_EQ(service.request_anonymous("POST /api/v1/users", body).code(),
                  "duplicate_credentials");
        EXPECT_FALSE(holds(service.buffer, service.key)) << service.buffer;
        service.send(in_chunks("POST /api/v1/users", {}, body));
        EXPECT_FALSE(holds(service.chunked_body, service.key)) << service.chunked_body;
    }
    for (auto const& body : {"[" + member + "]", "{" + member, R"({"a":{)" + member + "}}"}) {
        EXPECT_EQ(service.request_anonymous("POST /api/v1/users", body).code(), "key_missing")
            << body;
        EXPECT_FALSE(holds(service.buffer, service.key)) << service.buffer;
    }
}

// The rest of the request is unchanged: the server parses the head again after a chunked body.
TEST_F(api_test, only_the_key_is_wiped) {
    auto const text =
        request_text("GET /api/v1/users?a=1&api_key=" + service.key + "&b=2",
                     {bearer(service.key), "X-API-Key: " + service.key, "X-Other: y"});
    service.send(text);
    auto expected = text;
    for (auto i = expected.find(service.key); i != expected.npos; i = expected.find(service.key))
        expected.replace(i, service.key.size(), service.key.size(), '0');
    EXPECT_EQ(service.buffer, expected);
}

TEST_F(api_test, the_body_is_wiped_once_the_key_was_looked_up) {
    auto const spaced = R"({ "api_key" : ")" + service.key + R"(" , "name":"A","email":"a@x.y"})";
    auto const last = R"({"name":"A","email":"b@x.y","api_key":")" + service.key + R"("})";
    auto const coded =
        R"({"name":"A\"","email":"c@x.y","api\u005fkey":"\u006c)" + service.key.substr(1) + R"("})";
    for (auto const& body : {spaced, last, coded}) {
        EXPECT_EQ(service.request_anonymous("POST /api/v1/users", body).status, 201);
        EXPECT_FALSE(holds(service.buffer, service.key.substr(1))) << service.buffer;
        EXPECT_TRUE(holds(service.buffer, R"("email":")")) << service.buffer;
    }
    auto const chunked = R"({"name":"A","email":"d@x.y","api_key":")" + service.key + R"("})";
    EXPECT_EQ(service.send(in_chunks("POST /api/v1/users", {}, chunked)).status, 201);
    EXPECT_FALSE(holds(service.chunked_body, service.key)) << service.chunked_body;
    auto const unknown = auth::unknown_key();
    EXPECT_EQ(
        service.request_anonymous("POST /api/v1/users", R"({"api_key":")" + unknown + "\"}").code(),
        "key_invalid");
    EXPECT_FALSE(holds(service.buffer, unknown)) << service.buffer;
}

}  // namespace
}  // namespace latchkey::api
