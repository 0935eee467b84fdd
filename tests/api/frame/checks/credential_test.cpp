// The four ways to send a key (api.md §2): their precedence, and ambiguous requests.
#include <algorithm>

#include "../../harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view users = "POST /api/v1/users";

struct ways {
    std::optional<std::string> bearer, header, query, body;
};

// A POST of a user with these credentials.
reply send_by(api_fixture& service, ways const& ways_used, bool chunked = false) {
    static unsigned number = 0;
    std::string line(users),
        body = R"({"name":"Ada","email":"way)" + std::to_string(++number) + R"(@example.com")";
    lines fields;
    if (ways_used.bearer) fields.push_back(bearer(*ways_used.bearer));
    if (ways_used.header) fields.push_back("X-API-Key: " + *ways_used.header);
    if (ways_used.query) line += "?api_key=" + *ways_used.query;
    if (ways_used.body) body += R"(,"api_key":")" + *ways_used.body + '"';
    body += '}';
    return service.send(chunked ? in_chunks(line, fields, body) : request_text(line, fields, body));
}

// The expected result: the first way that is present decides, whatever the others are.
std::string expected_of(api_fixture const& service, ways const& ways_used,
                        std::string_view& source) {
    std::pair<std::optional<std::string> const*, std::string_view> const in_order[] = {
        {&ways_used.bearer, "bearer"},
        {&ways_used.header, "header"},
        {&ways_used.query, "query"},
        {&ways_used.body, "body"}};
    for (auto const& [way, name] : in_order) {
        if (!*way || (name == "query" && !service.settings.allow_query) ||
            (name == "body" && !service.settings.allow_body))
            continue;
        source = name;
        return **way == service.key ? "" : "key_invalid";
    }
    source = "";
    return "key_missing";
}

void try_all_combinations(api_fixture& service) {
    std::optional<std::string> const values[] = {std::nullopt, service.key, auth::unknown_key(),
                                                 ""};
    for (auto const& one : values)
        for (auto const& two : values)
            for (auto const& three : values)
                for (auto const& four : values) {
                    ways const ways_used{one, two, three, four};
                    std::string_view source;
                    auto const expected = expected_of(service, ways_used, source);
                    auto const response = send_by(service, ways_used);
                    ASSERT_EQ(response.code(), expected)
                        << one.value_or("-") << " " << two.value_or("-") << " "
                        << three.value_or("-") << " " << four.value_or("-");
                    ASSERT_EQ(response.status, expected.empty()            ? 201
                                               : expected == "key_missing" ? 401
                                                                           : 401);
                    ASSERT_EQ(name_of(service.exchange.source()), source);
                    ASSERT_EQ(response.fields("WWW-Authenticate"),
                              expected.empty() ? lines{}
                              : expected == "key_missing"
                                  ? lines{R"(Bearer realm="api")"}
                                  : lines{R"(Bearer realm="api", error="invalid_token")"});
                }
}

TEST_F(api_test, the_first_way_that_is_present_decides) {
    try_all_combinations(service);
}
TEST_F(api_test, query_can_be_switched_off) {
    service.settings.allow_query = false;
    try_all_combinations(service);
}
TEST_F(api_test, body_can_be_switched_off) {
    service.settings.allow_body = false;
    try_all_combinations(service);
}
TEST_F(api_test, query_and_body_can_be_switched_off) {
    service.settings.allow_query = service.settings.allow_body = false;
    try_all_combinations(service);
}

TEST_F(api_test, a_key_is_found_in_a_chunked_body) {
    EXPECT_EQ(send_by(service, {.body = service.key}, true).status, 201);
    EXPECT_EQ(send_by(service, {.bearer = service.key, .body = "x"}, true).status, 201);
    EXPECT_EQ(send_by(service, {.query = service.key}, true).status, 201);
}

TEST_F(api_test, forms_of_authorization) {
    struct {
        std::string value;
        std::string_view code;
    } const rows[] = {
        {"Bearer " + service.key, ""},
        {"bearer " + service.key, ""},
        {"BEARER " + service.key, ""},
        {"bEaReR   " + service.key, ""},
        {"Bearer\t" + service.key, ""},
        {"Bearer", "key_invalid"},
        {"Bearer ", "key_invalid"},
        {"Bearer " + service.key + " x", "key_invalid"},
        {"Bearer \"" + service.key + "\"", "key_invalid"},
        {"Bearer a.b.c", "key_invalid"},
        // Another scheme is no credential.
        {"Basic YTpi", "key_missing"},
        {"Bearer" + service.key, "key_missing"},
        {"Bearer:" + service.key, "key_missing"},
        {service.key, "key_missing"},
        {"", "key_missing"},
    };
    for (auto const& row : rows)
        EXPECT_EQ(
            service.request_anonymous("GET /api/v1/users", {}, {"Authorization: " + row.value})
                .code(),
            row.code)
            << row.value;
    // So the next way is tried.
    EXPECT_EQ(service
                  .request_anonymous("GET /api/v1/users", {},
                                     {"Authorization: Basic YTpi", "X-API-Key: " + service.key})
                  .status,
              200);
    EXPECT_EQ(service
                  .request_anonymous("GET /api/v1/users", {},
                                     {"Authorization: Basic YTpi", bearer(service.key)})
                  .status,
              200);
}

std::string percent_encoded(std::string_view text) {
    std::string response;
    for (char const byte : text) {
        char piece[4];
        std::snprintf(piece, sizeof piece, "%%%02x", static_cast<unsigned char>(byte));
        response += piece;
    }
    return response;
}

TEST_F(api_test, forms_of_the_query) {
    auto const coded = percent_encoded(service.key);
    struct {
        std::string query;
        std::string_view code;
    } const rows[] = {
        {"api_key=" + service.key, ""},
        {"limit=1&api_key=" + service.key + "&page=1", ""},
        {"api_key=" + coded, ""},
        {"%61pi%5Fkey=" + service.key, ""},
        {"&&api_key=" + service.key + "&", ""},
        {"api_key", "key_invalid"},
        {"api_key=", "key_invalid"},
        {"api_key=%zz", "key_invalid"},
        {"api_key=+" + service.key, "key_invalid"},
        {"api_key=" + service.key + "%00", "key_invalid"},
        {"API_KEY=" + service.key, "key_missing"},
        {"api_key%3D" + service.key, "key_missing"},
        {"xapi_key=" + service.key, "key_missing"},
    };
    for (auto const& row : rows)
        EXPECT_EQ(service.request_anonymous("GET /api/v1/users?" + row.query).code(), row.code)
            << row.query;
}

TEST_F(api_test, forms_of_the_body) {
    std::string const user = R"("name":"Ada","email":")";
    std::pair<std::string, std::string_view> const rows[] = {
        {R"({"api_key":")" + service.key + "\"," + user + R"(a@x.y"})", ""},
        {R"({"api\u005fkey":")" + service.key + "\"," + user + R"(b@x.y"})", ""},
        {R"({"api_key":"\u006c)" + service.key.substr(1) + "\"," + user + R"(c@x.y"})", ""},
        {R"({"api_key":null})", "key_invalid"},
        {R"({"api_key":17})", "key_invalid"},
        {R"({"api_key":[")" + service.key + "\"]}", "key_invalid"},
        {R"({"api_key":""})", "key_invalid"},
        {R"({"a":{"api_key":")" + service.key + "\"}}", "key_missing"},
        {R"([{"api_key":")" + service.key + "\"}]", "key_missing"},
        {R"(["api_key",")" + service.key + "\"]", "key_missing"},
        {R"({"api_key":")" + service.key + "\"", "key_missing"},
        {R"({"api_key":")" + service.key + "\"} x", "key_missing"},
        {R"("api_key")", "key_missing"},
        {"api_key=" + service.key, "key_missing"},
        {"{}", "key_missing"},
    };
    for (auto const& [body, code] : rows)
        EXPECT_EQ(service.request_anonymous(users, body).code(), code) << body;
    EXPECT_EQ(service.request_anonymous(users).code(), "key_missing");
    EXPECT_EQ(service.send(in_chunks(users, {}, "")).code(), "key_missing");
}

// The key is searched in any body; other faults of the body are shown only with a valid key.
TEST_F(api_test, a_body_is_validated_after_its_key) {
    std::string const rest = R"(,"a":{"b":1,"b":2}})";
    auto const body_with = [&](std::string const& key) {
        return R"({"api_key":")" + key + '"' + rest;
    };
    EXPECT_EQ(service.request_anonymous(users, body_with(service.key)).code(), "invalid_json");
    EXPECT_EQ(service.request_anonymous(users, body_with(std::string(48, 'x'))).code(),
              "key_invalid");
    EXPECT_EQ(service.request_anonymous(users, body_with(std::string(300, 'x'))).code(),
              "key_invalid");
    EXPECT_EQ(service.request_anonymous(users, R"({"b":1)" + rest).code(), "key_missing");
    std::string many = "{";
    for (int i = 0; i < 5000; ++i) many += "\"m" + std::to_string(i) + "\":0,";
    EXPECT_EQ(service.request_anonymous(users, many + R"("z":0})").code(), "key_missing");
    EXPECT_EQ(service.request_anonymous(users, many + R"("api_key":"x"})").code(), "key_invalid");
    auto const response =
        service.request_anonymous(users, many + R"("api_key":")" + service.key + "\"}");
    EXPECT_EQ(response.code(), "validation_failed");
    EXPECT_EQ(response.faults(), (std::map<std::string, std::string>{{"", "too_long"}}));
    EXPECT_EQ(service.buffer.find(service.key), std::string::npos);
}

TEST_F(api_test, the_same_way_twice_is_ambiguous) {
    auto const& key = service.key;
    auto const name = "X-API-Key: " + key;
    auto const pair = R"("api_key":")" + key + '"';
    auto const ambiguous = [](reply const& response) {
        EXPECT_EQ(response.status, 400);
        EXPECT_EQ(response.code(), "duplicate_credentials");
        EXPECT_EQ(response.field("WWW-Authenticate"), "");
    };
    for (lines const& fields : {lines{bearer(key), bearer(key)}, lines{bearer(key), bearer("")},
                                lines{bearer(key), "authorization: bearer x"}, lines{name, name},
                                lines{name, "x-api-key:"}, lines{bearer(key), name, name}})
        ambiguous(service.request_anonymous("GET /api/v1/users", {}, fields));
    for (auto const& query : std::initializer_list<std::string>{
             "api_key=x&api_key=x", "api_key=" + key + "&limit=1&api_key=", "api_key&api_key",
             "api_key=x&%61pi_key=x", "api%5fkey=x&%61p%69_key"})
        ambiguous(service.request_anonymous("GET /api/v1/users?" + query));
    ambiguous(service.request("GET /api/v1/users?api_key=x&api_key=y"));
    for (auto const& body : {"{" + pair + "," + pair + "}", "{" + pair + R"(,"api\u005fkey":1})",
                             R"({"name":"Ada",)" + pair + "," + pair + "}"}) {
        ambiguous(service.request_anonymous(users, body));
        ambiguous(service.request(users, body));
    }
    // Twice in a nested object is invalid JSON, and two different ways are not a duplicate.
    EXPECT_EQ(service.request(users, R"({"a":{"api_key":1,"api_key":2}})").code(), "invalid_json");
    EXPECT_EQ(service.request("GET /api/v1/users?api_key=x", {}, {name}).status, 200);
}

TEST_F(api_test, a_disabled_query_cannot_make_a_request_ambiguous) {
    service.settings.allow_query = false;
    EXPECT_EQ(service.request("GET /api/v1/users?api_key=x&api_key=y").status, 200);
}

TEST_F(api_test, only_a_post_has_a_body_with_a_key) {
    auto const id = std::to_string(service.add_user());
    auto const body =
        R"({"name":"Eve","email":"eve@example.com","api_key":")" + service.key + "\"}";
    for (std::string const method : {"PUT", "PATCH"}) {
        EXPECT_EQ(service.request_anonymous(method + " /api/v1/users/" + id, body).code(),
                  "key_missing");
        EXPECT_EQ(service.request(method + " /api/v1/users/" + id, body).faults(),
                  (std::map<std::string, std::string>{{"/api_key", "unknown_field"}}));
    }
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", body).code(), "key_missing");
    EXPECT_EQ(service.request_anonymous("DELETE /api/v1/users/" + id, body).code(), "key_missing");
}

TEST_F(api_test, a_body_with_a_key_has_128_kib) {
    auto const body_of = [&](std::size_t size) {
        auto text = R"({"email":")" + std::to_string(size) + R"(@example.com","api_key":")" +
                    service.key + R"(","name":"Ada")";
        text.resize(size - 1, ' ');
        return text + '}';
    };
    constexpr std::size_t most = 128 * 1024;
    EXPECT_EQ(service.request_anonymous(users, body_of(most)).status, 201);
    EXPECT_EQ(service.exchange.body_bytes_max(), 1024u * 1024);
    EXPECT_EQ(service.request_anonymous(users, body_of(most + 1)).code(), "body_too_large");
    EXPECT_EQ(service.exchange.body_bytes_max(), most);
    EXPECT_EQ(service.send(in_chunks(users, {}, body_of(most - 1))).status, 201);
    EXPECT_EQ(service.send(in_chunks(users, {}, body_of(most + 2))).code(), "body_too_large");
    // A declared length is refused before the body is read.
    auto const declared = "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 131073\r\n\r\n";
    EXPECT_EQ(service.send(declared).code(), "body_too_large");
    // With a key in a header the body may be larger.
    EXPECT_EQ(service.request(users, body_of(most + 3)).status, 201);
    EXPECT_EQ(
        service.request_anonymous(std::string(users) + "?api_key=" + service.key, body_of(most + 4))
            .status,
        201);
    service.settings.body_bytes_max = 1000;
    EXPECT_EQ(service.request_anonymous(users, body_of(1000)).status, 201);
    EXPECT_EQ(service.request_anonymous(users, body_of(1001)).code(), "body_too_large");
}

}  // namespace
}  // namespace latchkey::api
