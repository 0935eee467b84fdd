// The four ways of a key into the service (API §2): which decides, and what is ambiguous.
#include <algorithm>

#include "harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view users = "POST /api/v1/users";

struct ways {
    std::optional<std::string> bearer, header, query, body;
};

// A POST of a user that carries the credentials given.
reply send_by(station& at, ways const& by, bool chunked = false) {
    static unsigned number = 0;
    std::string line(users),
        body = R"({"name":"Ada","email":"way)" + std::to_string(++number) + R"(@example.com")";
    lines fields;
    if (by.bearer) fields.push_back(bearer(*by.bearer));
    if (by.header) fields.push_back("X-API-Key: " + *by.header);
    if (by.query) line += "?api_key=" + *by.query;
    if (by.body) body += R"(,"api_key":")" + *by.body + '"';
    body += '}';
    return at.send(chunked ? in_chunks(line, fields, body) : request_text(line, fields, body));
}

// What is to come of it: the first way that is present decides, whatever the others say.
std::string expected_of(station const& at, ways const& by, std::string_view& source) {
    std::pair<std::optional<std::string> const*, std::string_view> const in_order[] = {
        {&by.bearer, "bearer"}, {&by.header, "header"}, {&by.query, "query"}, {&by.body, "body"}};
    for (auto const& [way, name] : in_order) {
        if (!*way || (name == "query" && !at.rules.allow_query) ||
            (name == "body" && !at.rules.allow_body))
            continue;
        source = name;
        return **way == at.key ? "" : "key_invalid";
    }
    source = "";
    return "key_missing";
}

void try_all_combinations(station& at) {
    std::optional<std::string> const values[] = {std::nullopt, at.key, auth::unknown_key(), ""};
    for (auto const& one : values)
        for (auto const& two : values)
            for (auto const& three : values)
                for (auto const& four : values) {
                    ways const by{one, two, three, four};
                    std::string_view source;
                    auto const expected = expected_of(at, by, source);
                    auto const made = send_by(at, by);
                    ASSERT_EQ(made.code(), expected)
                        << one.value_or("-") << " " << two.value_or("-") << " "
                        << three.value_or("-") << " " << four.value_or("-");
                    ASSERT_EQ(made.status, expected.empty()            ? 201
                                           : expected == "key_missing" ? 401
                                                                       : 401);
                    ASSERT_EQ(name_of(at.exchange.source()), source);
                    ASSERT_EQ(made.fields("WWW-Authenticate"),
                              expected.empty() ? lines{}
                              : expected == "key_missing"
                                  ? lines{R"(Bearer realm="api")"}
                                  : lines{R"(Bearer realm="api", error="invalid_token")"});
                }
}

TEST_F(api_test, the_first_way_that_is_present_decides) {
    try_all_combinations(at);
}
TEST_F(api_test, query_can_be_switched_off) {
    at.rules.allow_query = false;
    try_all_combinations(at);
}
TEST_F(api_test, body_can_be_switched_off) {
    at.rules.allow_body = false;
    try_all_combinations(at);
}
TEST_F(api_test, query_and_body_can_be_switched_off) {
    at.rules.allow_query = at.rules.allow_body = false;
    try_all_combinations(at);
}

TEST_F(api_test, a_key_comes_in_chunks_too) {
    EXPECT_EQ(send_by(at, {.body = at.key}, true).status, 201);
    EXPECT_EQ(send_by(at, {.bearer = at.key, .body = "x"}, true).status, 201);
    EXPECT_EQ(send_by(at, {.query = at.key}, true).status, 201);
}

TEST_F(api_test, forms_of_authorization) {
    struct {
        std::string value;
        std::string_view code;
    } const rows[] = {
        {"Bearer " + at.key, ""},
        {"bearer " + at.key, ""},
        {"BEARER " + at.key, ""},
        {"bEaReR   " + at.key, ""},
        {"Bearer\t" + at.key, ""},
        {"Bearer", "key_invalid"},
        {"Bearer ", "key_invalid"},
        {"Bearer " + at.key + " x", "key_invalid"},
        {"Bearer \"" + at.key + "\"", "key_invalid"},
        {"Bearer a.b.c", "key_invalid"},
        // Another scheme is no credential.
        {"Basic YTpi", "key_missing"},
        {"Bearer" + at.key, "key_missing"},
        {"Bearer:" + at.key, "key_missing"},
        {at.key, "key_missing"},
        {"", "key_missing"},
    };
    for (auto const& row : rows)
        EXPECT_EQ(at.ask_bare("GET /api/v1/users", {}, {"Authorization: " + row.value}).code(),
                  row.code)
            << row.value;
    // And so does not stand in the way of the next.
    EXPECT_EQ(
        at.ask_bare("GET /api/v1/users", {}, {"Authorization: Basic YTpi", "X-API-Key: " + at.key})
            .status,
        200);
    EXPECT_EQ(
        at.ask_bare("GET /api/v1/users", {}, {"Authorization: Basic YTpi", bearer(at.key)}).status,
        200);
}

std::string percent_encoded(std::string_view text) {
    std::string made;
    for (char const byte : text) {
        char piece[4];
        std::snprintf(piece, sizeof piece, "%%%02x", static_cast<unsigned char>(byte));
        made += piece;
    }
    return made;
}

TEST_F(api_test, forms_of_the_query) {
    auto const coded = percent_encoded(at.key);
    struct {
        std::string query;
        std::string_view code;
    } const rows[] = {
        {"api_key=" + at.key, ""},
        {"limit=1&api_key=" + at.key + "&page=1", ""},
        {"api_key=" + coded, ""},
        {"%61pi%5Fkey=" + at.key, ""},
        {"&&api_key=" + at.key + "&", ""},
        {"api_key", "key_invalid"},
        {"api_key=", "key_invalid"},
        {"api_key=%zz", "key_invalid"},
        {"api_key=+" + at.key, "key_invalid"},
        {"api_key=" + at.key + "%00", "key_invalid"},
        {"API_KEY=" + at.key, "key_missing"},
        {"api_key%3D" + at.key, "key_missing"},
        {"xapi_key=" + at.key, "key_missing"},
    };
    for (auto const& row : rows)
        EXPECT_EQ(at.ask_bare("GET /api/v1/users?" + row.query).code(), row.code) << row.query;
}

TEST_F(api_test, forms_of_the_body) {
    std::string const user = R"("name":"Ada","email":")";
    std::pair<std::string, std::string_view> const rows[] = {
        {R"({"api_key":")" + at.key + "\"," + user + R"(a@x.y"})", ""},
        {R"({"api\u005fkey":")" + at.key + "\"," + user + R"(b@x.y"})", ""},
        {R"({"api_key":"\u006c)" + at.key.substr(1) + "\"," + user + R"(c@x.y"})", ""},
        {R"({"api_key":null})", "key_invalid"},
        {R"({"api_key":17})", "key_invalid"},
        {R"({"api_key":[")" + at.key + "\"]}", "key_invalid"},
        {R"({"api_key":""})", "key_invalid"},
        {R"({"a":{"api_key":")" + at.key + "\"}}", "key_missing"},
        {R"([{"api_key":")" + at.key + "\"}]", "key_missing"},
        {R"(["api_key",")" + at.key + "\"]", "key_missing"},
        {R"({"api_key":")" + at.key + "\"", "key_missing"},
        {R"({"api_key":")" + at.key + "\"} x", "key_missing"},
        {R"("api_key")", "key_missing"},
        {"api_key=" + at.key, "key_missing"},
        {"{}", "key_missing"},
    };
    for (auto const& [body, code] : rows) EXPECT_EQ(at.ask_bare(users, body).code(), code) << body;
    EXPECT_EQ(at.ask_bare(users).code(), "key_missing");
    EXPECT_EQ(at.send(in_chunks(users, {}, "")).code(), "key_missing");
}

TEST_F(api_test, the_same_way_twice_is_ambiguous) {
    auto const& key = at.key;
    auto const name = "X-API-Key: " + key;
    auto const pair = R"("api_key":")" + key + '"';
    auto const ambiguous = [](reply const& made) {
        EXPECT_EQ(made.status, 400);
        EXPECT_EQ(made.code(), "duplicate_credentials");
        EXPECT_EQ(made.field("WWW-Authenticate"), "");
    };
    for (lines const& fields : {lines{bearer(key), bearer(key)}, lines{bearer(key), bearer("")},
                                lines{bearer(key), "authorization: bearer x"}, lines{name, name},
                                lines{name, "x-api-key:"}, lines{bearer(key), name, name}})
        ambiguous(at.ask_bare("GET /api/v1/users", {}, fields));
    for (auto const& query : std::initializer_list<std::string>{
             "api_key=x&api_key=x", "api_key=" + key + "&limit=1&api_key=", "api_key&api_key",
             "api_key=x&%61pi_key=x", "api%5fkey=x&%61p%69_key"})
        ambiguous(at.ask_bare("GET /api/v1/users?" + query));
    ambiguous(at.ask("GET /api/v1/users?api_key=x&api_key=y"));
    for (auto const& body : {"{" + pair + "," + pair + "}", "{" + pair + R"(,"api\u005fkey":1})",
                             R"({"name":"Ada",)" + pair + "," + pair + "}"}) {
        ambiguous(at.ask_bare(users, body));
        ambiguous(at.ask(users, body));
    }
    // Twice in a nested object is only bad JSON, and different ways do not make it twice.
    EXPECT_EQ(at.ask(users, R"({"a":{"api_key":1,"api_key":2}})").code(), "invalid_json");
    EXPECT_EQ(at.ask("GET /api/v1/users?api_key=x", {}, {name}).status, 200);
}

TEST_F(api_test, a_query_that_is_switched_off_is_no_way_to_be_ambiguous) {
    at.rules.allow_query = false;
    EXPECT_EQ(at.ask("GET /api/v1/users?api_key=x&api_key=y").status, 200);
}

TEST_F(api_test, only_a_post_has_a_body_with_a_key) {
    auto const id = std::to_string(at.add_user());
    auto const body = R"({"name":"Eve","email":"eve@example.com","api_key":")" + at.key + "\"}";
    for (std::string const method : {"PUT", "PATCH"}) {
        EXPECT_EQ(at.ask_bare(method + " /api/v1/users/" + id, body).code(), "key_missing");
        EXPECT_EQ(at.ask(method + " /api/v1/users/" + id, body).faults(),
                  (std::map<std::string, std::string>{{"/api_key", "unknown_field"}}));
    }
    EXPECT_EQ(at.ask_bare("GET /api/v1/users", body).code(), "key_missing");
    EXPECT_EQ(at.ask_bare("DELETE /api/v1/users/" + id, body).code(), "key_missing");
}

TEST_F(api_test, a_body_with_a_key_has_128_kib) {
    auto const body_of = [&](std::size_t size) {
        auto text = R"({"email":")" + std::to_string(size) + R"(@example.com","api_key":")" +
                    at.key + R"(","name":"Ada")";
        text.resize(size - 1, ' ');
        return text + '}';
    };
    constexpr std::size_t most = 128 * 1024;
    EXPECT_EQ(at.ask_bare(users, body_of(most)).status, 201);
    EXPECT_EQ(at.exchange.body_bytes_max(), 1024u * 1024);
    EXPECT_EQ(at.ask_bare(users, body_of(most + 1)).code(), "body_too_large");
    EXPECT_EQ(at.exchange.body_bytes_max(), most);
    EXPECT_EQ(at.send(in_chunks(users, {}, body_of(most - 1))).status, 201);
    EXPECT_EQ(at.send(in_chunks(users, {}, body_of(most + 2))).code(), "body_too_large");
    // A declared length is refused before any of the body came.
    auto const declared = "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 131073\r\n\r\n";
    EXPECT_EQ(at.send(declared).code(), "body_too_large");
    // Whoever says who it is may send more.
    EXPECT_EQ(at.ask(users, body_of(most + 3)).status, 201);
    EXPECT_EQ(at.ask_bare(std::string(users) + "?api_key=" + at.key, body_of(most + 4)).status,
              201);
    at.rules.body_bytes_max = 1000;
    EXPECT_EQ(at.ask_bare(users, body_of(1000)).status, 201);
    EXPECT_EQ(at.ask_bare(users, body_of(1001)).code(), "body_too_large");
}

}  // namespace
}  // namespace latchkey::api
