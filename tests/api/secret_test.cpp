// What becomes of a key that came: nobody behind the gate sees it, and its bytes are overwritten
// once they were hashed (API §2, §4). That no reply shows one the station checks for all of them.
#include "harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view users = "/api/v1/users";

bool holds(std::string_view where, std::string_view what) {
    return where.find(what) != where.npos;
}

TEST_F(api_test, the_handler_does_not_see_the_query_parameter) {
    for (bool const allowed : {true, false}) {
        at.rules.allow_query = allowed;
        for (std::string const query : {"?api_key=x", "?limit=1&%61pi_key=x&page=1"})
            EXPECT_EQ(at.ask("GET " + std::string(users) + query).status, 200) << query;
        EXPECT_EQ(at.ask("GET /api/v1/users?api_key=x&no=1").faults(),
                  (std::map<std::string, std::string>{{"no", "unknown_field"}}));
    }
}

TEST_F(api_test, the_handler_does_not_see_the_member) {
    for (bool const allowed : {true, false}) {
        at.rules.allow_body = allowed;
        auto const email = std::string(allowed ? "a" : "b") + "@example.com";
        auto const made = at.ask("POST /api/v1/users",
                                 R"({"api_key":"x","name":"Ada","email":")" + email + "\"}");
        EXPECT_EQ(made.status, 201);
        EXPECT_EQ(made.at("/api_key"), "");
        auto const nested = at.ask("POST /api/v1/users",
                                   R"({"name":{"api_key":"x"},"email":"c@x.y","api_key":{}})");
        EXPECT_EQ(nested.faults(), (std::map<std::string, std::string>{{"/name", "invalid_type"}}));
    }
}

TEST_F(api_test, links_do_not_carry_it) {
    for (int i = 0; i < 3; ++i) at.add_user();
    auto const made = at.ask_bare("GET /users?limit=1&api_key=" + at.key + "&page=2");
    EXPECT_EQ(made.links().at("next"), "/api/v1/users?page=3&limit=1");
    EXPECT_EQ(made.links().at("canonical"), "/api/v1/users");
}

TEST_F(api_test, the_request_is_wiped_once_the_key_was_looked_up) {
    std::string coded;
    for (char const byte : at.key) coded += (byte == 'l' ? "%6C" : std::string(1, byte));
    struct {
        std::string line;
        lines fields;
    } const rows[] = {
        {"GET /api/v1/users", {bearer(at.key)}},
        {"GET /api/v1/users", {"authorization:   bEARER   " + at.key + "  "}},
        {"GET /api/v1/users", {"X-API-Key: " + at.key}},
        {"GET /api/v1/users?api_key=" + at.key, {}},
        {"GET /api/v1/users?limit=1&%61pi_key=" + at.key + "&page=1", {}},
        {"GET /api/v1/users?api_key=" + coded, {}},
        // All ways at once, whichever decided, and whatever came of it.
        {"GET /api/v1/users?api_key=" + at.key, {bearer(at.key), "X-API-Key: " + at.key}},
        {"GET /nothing?api_key=" + at.key, {bearer(at.key), "X-API-Key: " + at.key}},
        {"GET /nothing?api_key=" + at.key, {bearer("x")}},
    };
    for (auto const& row : rows) {
        at.ask_bare(row.line, {}, row.fields);
        EXPECT_FALSE(holds(at.buffer, at.key)) << at.buffer;
        EXPECT_FALSE(holds(at.buffer, at.key.substr(1, 30))) << at.buffer;
        EXPECT_FALSE(holds(at.buffer, at.key.substr(20))) << at.buffer;
    }
}

TEST_F(api_test, a_refused_key_is_wiped_too) {
    auto const unknown = auth::unknown_key();
    auto const expired = at.add_key({"*"}, {.expires_at = 1});
    for (auto const& key : {unknown, expired}) {
        at.ask_bare("GET /api/v1/users?api_key=" + key, {}, {bearer(key), "X-API-Key: " + key});
        EXPECT_FALSE(holds(at.buffer, key)) << at.buffer;
    }
}

TEST_F(api_test, switching_the_query_off_does_not_keep_its_key) {
    at.rules.allow_query = false;
    at.ask("GET /api/v1/users?api_key=" + at.key);
    EXPECT_FALSE(holds(at.buffer, at.key)) << at.buffer;
    for (std::string const path : {"/api/v1/users", "/auth"}) {
        EXPECT_EQ(at.ask_bare("GET " + path + "?api_key=" + at.key).code(), "key_missing");
        EXPECT_FALSE(holds(at.buffer, at.key)) << at.buffer;
    }
}

TEST_F(api_test, a_key_is_wiped_that_nobody_looked_at) {
    struct {
        std::string line;
        lines fields;
        std::string_view code;
    } const rows[] = {
        {"GET /healthz?api_key=" + at.key, {bearer(at.key), "X-API-Key: " + at.key}, ""},
        {"GET /problems/none?api_key=" + at.key, {bearer(at.key)}, "route_not_found"},
        {"GET /api/v1/users?api_key=" + at.key + "&api_key=" + at.key, {}, "duplicate_credentials"},
        {"GET /nothing", {bearer(at.key), bearer(at.key)}, "duplicate_credentials"},
        {"GET /auth", {"X-API-Key: " + at.key, "X-API-Key: x"}, "duplicate_credentials"},
    };
    for (auto const& row : rows) {
        EXPECT_EQ(at.ask_bare(row.line, {}, row.fields).code(), row.code);
        EXPECT_FALSE(holds(at.buffer, at.key)) << at.buffer;
    }
    at.from = {.tls = false, .local = false, .client = model::address::parse("203.0.113.7")};
    EXPECT_EQ(at.ask("GET /api/v1/users?api_key=" + at.key).code(), "https_required");
    EXPECT_FALSE(holds(at.buffer, at.key)) << at.buffer;
}

TEST_F(api_test, a_body_that_names_two_keys_is_wiped) {
    auto const member = R"("api_key":")" + at.key + '"';
    for (auto const& body :
         {"{" + member + "," + member + "}", "{" + member + "," + member + ",{["}) {
        EXPECT_EQ(at.ask_bare("POST /api/v1/users", body).code(), "duplicate_credentials");
        EXPECT_FALSE(holds(at.buffer, at.key)) << at.buffer;
        at.send(in_chunks("POST /api/v1/users", {}, body));
        EXPECT_FALSE(holds(at.chunked_body, at.key)) << at.chunked_body;
    }
    for (auto const& body : {"[" + member + "]", "{" + member, R"({"a":{)" + member + "}}"}) {
        EXPECT_EQ(at.ask_bare("POST /api/v1/users", body).code(), "key_missing") << body;
        EXPECT_FALSE(holds(at.buffer, at.key)) << at.buffer;
    }
}

// The rest of the request stays what it was: the server reads the head again for a body in chunks.
TEST_F(api_test, only_the_key_is_wiped) {
    auto const text = request_text("GET /api/v1/users?a=1&api_key=" + at.key + "&b=2",
                                   {bearer(at.key), "X-API-Key: " + at.key, "X-Other: y"});
    at.send(text);
    auto expected = text;
    for (auto i = expected.find(at.key); i != expected.npos; i = expected.find(at.key))
        expected.replace(i, at.key.size(), at.key.size(), '0');
    EXPECT_EQ(at.buffer, expected);
}

TEST_F(api_test, the_body_is_wiped_once_the_key_was_looked_up) {
    auto const spaced = R"({ "api_key" : ")" + at.key + R"(" , "name":"A","email":"a@x.y"})";
    auto const last = R"({"name":"A","email":"b@x.y","api_key":")" + at.key + R"("})";
    auto const coded =
        R"({"name":"A\"","email":"c@x.y","api\u005fkey":"\u006c)" + at.key.substr(1) + R"("})";
    for (auto const& body : {spaced, last, coded}) {
        EXPECT_EQ(at.ask_bare("POST /api/v1/users", body).status, 201);
        EXPECT_FALSE(holds(at.buffer, at.key.substr(1))) << at.buffer;
        EXPECT_TRUE(holds(at.buffer, R"("email":")")) << at.buffer;
    }
    auto const chunked = R"({"name":"A","email":"d@x.y","api_key":")" + at.key + R"("})";
    EXPECT_EQ(at.send(in_chunks("POST /api/v1/users", {}, chunked)).status, 201);
    EXPECT_FALSE(holds(at.chunked_body, at.key)) << at.chunked_body;
    auto const unknown = auth::unknown_key();
    EXPECT_EQ(at.ask_bare("POST /api/v1/users", R"({"api_key":")" + unknown + "\"}").code(),
              "key_invalid");
    EXPECT_FALSE(holds(at.buffer, unknown)) << at.buffer;
}

}  // namespace
}  // namespace latchkey::api
