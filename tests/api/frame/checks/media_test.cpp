// Media types (api.md §1): of responses and of bodies.
#include "../../harness.hpp"

namespace latchkey::api {
namespace {

TEST_F(api_test, accept) {
    struct {
        lines fields;
        bool json;
    } const rows[] = {
        {{}, true},
        {{"Accept:"}, true},
        {{"Accept: ,"}, true},
        {{"Accept: */*"}, true},
        {{"Accept: application/*"}, true},
        {{"Accept: application/json"}, true},
        {{"Accept: Application/JSON"}, true},
        {{"Accept: application/json; charset=utf-8"}, true},
        {{"Accept: text/html, application/xhtml+xml, */*;q=0.8"}, true},
        {{"Accept: text/html", "Accept: application/json"}, true},
        {{"Accept: application/json;q=0.001"}, true},
        {{"Accept: application/json;q=1"}, true},
        {{"Accept: application/json, */*;q=0"}, true},
        {{"Accept: application/*, */*;q=0"}, true},
        {{"Accept: text/html;level=\"1,2;q=0\", */*"}, true},
        {{"Accept: application/json ; Q=0.5"}, true},
        {{"Accept: application/json, application/json;version=2;q=0"}, true},
        {{"Accept: application/json;version=2;q=0, application/json"}, true},
        {{"Accept: text/html"}, false},
        {{"Accept: text/*"}, false},
        {{"Accept: application/xml"}, false},
        {{"Accept: application/jsonp"}, false},
        {{"Accept: application"}, false},
        {{"Accept: application/json;q=0"}, false},
        {{"Accept: application/json;q=0.000"}, false},
        {{"Accept: application/json; Q=0.0"}, false},
        {{"Accept: */*;q=0"}, false},
        {{"Accept: application/json;q=0, */*"}, false},
        {{"Accept: */*, application/json;q=0"}, false},
        {{"Accept: */*, application/*;q=0"}, false},
        {{"Accept: text/html", "Accept: application/json;q=0"}, false},
        {{"Accept: text/html;a=\"application/json, */*\""}, false},
        {{"Accept: text/html;a=\"\\\", application/json, */*\""}, false},
    };
    for (auto const& row : rows) {
        auto const name = row.fields.empty() ? "-" : row.fields[0];
        for (auto const* const line : {"GET /api/v1/users", "HEAD /api/v1/users"}) {
            auto const response = service.request(line, {}, row.fields);
            EXPECT_EQ(response.status, row.json ? 200 : 406) << name;
            // A refusal is JSON nevertheless.
            if (response.body != "") EXPECT_EQ(response.code(), row.json ? "" : "not_acceptable");
        }
    }
    EXPECT_EQ(service.request("DELETE /api/v1/users/1", {}, {"Accept: text/html"}).code(),
              "not_acceptable");
    EXPECT_EQ(service.request("OPTIONS /api/v1/users", {}, {"Accept: text/html"}).status, 204);
}

// Only HTML pages are exempt.
TEST_F(api_test, accept_on_public_routes) {
    EXPECT_EQ(service.request_anonymous("GET /healthz", {}, {"Accept: text/html"}).code(),
              "not_acceptable");
    EXPECT_EQ(
        service.request_anonymous("GET /healthz", {}, {"Accept: text/html, */*;q=0.1"}).status,
        200);
    EXPECT_EQ(
        service.request_anonymous("GET /problems/not_found", {}, {"Accept: image/png"}).status,
        200);
}

TEST_F(api_test, content_type) {
    struct {
        lines fields;
        bool post, patch;
    } const rows[] = {
        {{"Content-Type: application/json"}, true, true},
        {{"Content-Type: Application/Json"}, true, true},
        {{"Content-Type: application/json;charset=utf-8"}, true, true},
        {{"Content-Type: application/json ; Charset=\"UTF-8\""}, true, true},
        {{"Content-Type: application/json; profile=x"}, true, true},
        {{"Content-Type: application/merge-patch+json"}, false, true},
        {{"Content-Type: application/merge-patch+json; charset=utf-8"}, false, true},
        {{"Content-Type: application/json; charset=latin1"}, false, false},
        {{"Content-Type: application/json; charset=utf-16"}, false, false},
        {{"Content-Type: text/json"}, false, false},
        {{"Content-Type: text/plain"}, false, false},
        {{"Content-Type: application/x-www-form-urlencoded"}, false, false},
        {{"Content-Type: application/problem+json"}, false, false},
        {{"Content-Type: application/json-patch+json"}, false, false},
        {{"Content-Type: application/*"}, false, false},
        {{"Content-Type: application/json, text/plain"}, false, false},
        {{"Content-Type:"}, false, false},
        {{"Content-Type: application/json", "Content-Type: application/json"}, false, false},
        {{"Content-Type: application/json", "Content-Type: text/plain"}, false, false},
    };
    auto const id = std::to_string(service.add_user());
    for (auto const& row : rows) {
        for (auto const* const method : {"POST /api/v1/users", "PUT /api/v1/users/"}) {
            auto const line = method + (method[1] == 'U' ? id : "");
            auto const response = service.request(line, "{}", row.fields);
            EXPECT_EQ(response.status, row.post ? 422 : 415) << row.fields[0];
            if (row.post) continue;
            EXPECT_EQ(response.code(), "unsupported_media_type");
            EXPECT_EQ(response.fields("Accept"), lines{"application/json"});
            EXPECT_EQ(response.fields("Accept-Patch"), lines{});
        }
        auto const response = service.request("PATCH /api/v1/users/" + id, "{}", row.fields);
        EXPECT_EQ(response.status, row.patch ? 200 : 415) << row.fields[0];
        if (!row.patch)
            EXPECT_NE(response.field("Accept-Patch").find("application/merge-patch+json"),
                      std::string::npos);
    }
}

TEST_F(api_test, an_unread_body_may_have_any_type) {
    lines const text{"Content-Type: text/plain"};
    auto const id = std::to_string(service.add_user());
    EXPECT_EQ(service.request("GET /api/v1/users", "x", text).status, 200);
    EXPECT_EQ(service.request("OPTIONS /api/v1/users", "x", text).status, 204);
    for (std::string const path : {"/session", "/sessions", "/users/1"})
        EXPECT_EQ(service.request("DELETE /api/v1" + path, "x", text).status, 204) << path;
    EXPECT_EQ(service.request("GET /api/v1/service", "x", text).status, 200);
}

TEST_F(api_test, a_body_without_a_type) {
    auto text = request_text("POST /api/v1/users", {bearer(service.key)}, "{}");
    std::string const type = "Content-Type: application/json\r\n";
    text.erase(text.find(type), type.size());
    EXPECT_EQ(service.send(text).code(), "unsupported_media_type");
    // An absent body needs no type, but is not JSON.
    EXPECT_EQ(service.request("POST /api/v1/users").code(), "invalid_json");
    EXPECT_EQ(service.send(in_chunks("POST /api/v1/users", {bearer(service.key)}, "")).code(),
              "invalid_json");
}

std::string without_type(std::string text) {
    std::string const type = "Content-Type: application/json\r\n";
    if (auto const place = text.find(type); place != text.npos) text.erase(place, type.size());
    return text;
}

TEST_F(api_test, an_empty_body_needs_no_type_in_any_framing) {
    lines fields{bearer(service.key)};
    auto const deactivation = "POST /api/v1/keys/current/deactivate";
    auto const chunked = [&](std::string_view line, std::string_view body, lines const& more = {}) {
        auto all = fields;
        all.insert(all.end(), more.begin(), more.end());
        return service.send(without_type(in_chunks(line, all, body)));
    };
    EXPECT_EQ(chunked("POST /api/v1/users", "").code(), "invalid_json");
    EXPECT_EQ(chunked("POST /api/v1/users", "{}").code(), "unsupported_media_type");
    EXPECT_EQ(chunked("POST /api/v1/users", "", {"Content-Type: text/plain"}).code(),
              "invalid_json");
    EXPECT_EQ(chunked("POST /api/v1/users", "", {"Content-Encoding: gzip"}).code(), "invalid_json");
    // Who asks before it sends has something to send.
    EXPECT_EQ(chunked("POST /api/v1/users", "", {"Expect: 100-continue"}).code(),
              "unsupported_media_type");
    fields = {bearer(service.add_key({"users:read"}))};
    EXPECT_EQ(chunked(deactivation, "{}").status, 415);
    EXPECT_EQ(chunked(deactivation, "").status, 200);
}

TEST_F(api_test, a_body_has_no_coding) {
    for (auto const* const coding :
         {"gzip", "GZIP", "br", "x", "identity, gzip", "gzip, identity"}) {
        auto const response = service.request("POST /api/v1/users", "{}",
                                              {std::string("Content-Encoding: ") + coding});
        EXPECT_EQ(response.code(), "unsupported_media_type") << coding;
        EXPECT_EQ(response.fields("Accept-Encoding"), lines{"identity"});
        EXPECT_EQ(response.fields("Accept"), lines{});
    }
    for (auto const* const coding : {"identity", "Identity", "", "identity, identity"})
        EXPECT_EQ(
            service
                .request("POST /api/v1/users", "{}", {std::string("Content-Encoding: ") + coding})
                .status,
            422)
            << coding;
    // An event is kept byte for byte, but as JSON.
    EXPECT_EQ(service.request("POST /api/v1/events/shop", "x", {"Content-Encoding: gzip"}).status,
              415);
    EXPECT_EQ(service.request("GET /api/v1/users", "x", {"Content-Encoding: gzip"}).status, 200);
}

TEST_F(api_test, the_types_of_answers) {
    auto const id = std::to_string(service.add_user());
    for (std::string const line : {"GET /api/v1/users", "GET /api/v1/users/1", "GET /healthz"})
        EXPECT_EQ(service.request(line).fields("Content-Type"),
                  lines{"application/json; charset=utf-8"});
    EXPECT_EQ(service.request("PATCH /api/v1/users/" + id, "{}").field("Content-Type"),
              "application/json; charset=utf-8");
    EXPECT_EQ(service.request("DELETE /api/v1/users/" + id).fields("Content-Type"), lines{});
    EXPECT_EQ(service.request("GET /healthz").body, R"({"status":"ok"})");
}

TEST_F(api_test, expectations) {
    auto const user = R"({"name":"A","email":"a@b.c"})";
    EXPECT_EQ(service.request("POST /api/v1/users", user, {"Expect: 100-continue"}).status, 201);
    EXPECT_EQ(service.request("POST /api/v1/users", user, {"Expect: 200-ok"}).code(),
              "expectation_failed");
    EXPECT_EQ(service.request("GET /api/v1/users", "", {"Expect: a, 100-continue"}).code(),
              "expectation_failed");
}

// The length of such a body is not known, and its first byte decides: it is not read to its end.
TEST_F(api_test, a_body_that_cannot_be_read_is_refused_before_its_length_is_known) {
    EXPECT_EQ(service.request("GET /api/v1/users").status, 200);  // begins a turn
    http::response response;
    http::request request;
    http::framing framing;
    auto text = in_chunks("POST /api/v1/users", {bearer(service.key)}, {});
    text.replace(text.find("application/json"), 16, "text/plain      ");
    http::parser parser(service.http_limits);
    EXPECT_EQ(parser.read_head(text, request, framing).state, http::step::progress::complete);
    EXPECT_EQ(service.exchange.begin(service.services(), request, framing, service.peer,
                                     service.now, response),
              next_step::read_body);
    EXPECT_EQ(service.exchange.body_bytes_max(), 0u);
    service.exchange.refuse_and_close(base::problem::body_too_large, response);
    EXPECT_EQ(response.status, 415u);
    EXPECT_TRUE(response.close);
}

}  // namespace
}  // namespace latchkey::api
