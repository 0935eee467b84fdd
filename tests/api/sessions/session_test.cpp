// Sessions of browsers (api.md §18): how one begins, what it may do, and when it ends.
#include "../harness.hpp"
#include "auth/browser_session.hpp"

namespace latchkey::api {
namespace {

constexpr std::int64_t session_minute = 60'000, session_hour = 60 * session_minute;

class session : public api_test {
  protected:
    static std::string cookie_of(reply const& response) {
        auto const field = response.field("Set-Cookie");
        return field.substr(0, field.find(';'));
    }
    std::string begin(std::string const& key) {
        auto const response = service.request_anonymous("POST /api/v1/session", {}, {bearer(key)});
        EXPECT_EQ(response.status, 200) << response.body;
        return cookie_of(response);
    }
    reply read(std::string_view line, std::string const& cookie) {
        return service.request_anonymous(line, {},
                                         {"Cookie: " + cookie, "Sec-Fetch-Site: same-origin"});
    }
    lines own_page(std::string const& cookie) {
        return {"Cookie: " + cookie, "Sec-Fetch-Site: same-origin", "Origin: https://echo.invalid",
                "X-Requested-With: latchkey", "Content-Type: application/json"};
    }
    reply change(std::string_view line, std::string const& cookie, std::string_view body = {}) {
        return service.request_anonymous(line, body, own_page(cookie));
    }
};

TEST_F(session, begins_with_a_key_and_is_that_key) {
    auto const key = service.add_key({"users:read"});
    auto const response = service.request_anonymous("POST /api/v1/session", {}, {bearer(key)});
    EXPECT_EQ(response.at("/key_id"), std::to_string(service.last_key()));
    EXPECT_EQ(response.field("Cache-Control"), "no-store");
    auto const field = response.field("Set-Cookie");
    EXPECT_TRUE(field.starts_with("__Host-latchkey=")) << field;
    EXPECT_TRUE(field.ends_with("; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=3600"))
        << field;
    EXPECT_EQ(field.find(key), field.npos);
    auto const cookie = cookie_of(response);
    auto const users = read("GET /api/v1/users", "a=b; " + cookie + "; c=d");
    EXPECT_EQ(users.status, 200) << users.body;
    EXPECT_EQ(service.exchange.source(), key_source::session);
    EXPECT_EQ(users.fields("Vary").back(), "Cookie");
    EXPECT_EQ(read("GET /api/v1/posts", cookie).code(), "insufficient_scope");
    EXPECT_EQ(service.buffer.find(cookie.substr(cookie.find('=') + 1)), service.buffer.npos);
}

// Of two cookies of one name the first counts; the other one is a credential too.
TEST_F(session, is_wiped_wherever_it_is) {
    auto const first = begin(service.key), second = begin(service.add_key({"users:read"}));
    auto const is_wiped = [&] {
        return service.buffer.find(first.substr(first.find('=') + 1)) == std::string::npos &&
               service.buffer.find(second.substr(second.find('=') + 1)) == std::string::npos;
    };
    EXPECT_EQ(read("GET /api/v1/keys", first + "; a=b; " + second).status, 200);
    EXPECT_TRUE(is_wiped());
    EXPECT_EQ(read("GET /api/v1/keys", second + ";" + first).code(), "insufficient_scope");
    EXPECT_TRUE(is_wiped());
    EXPECT_EQ(service
                  .request_anonymous(
                      "GET /api/v1/keys", {},
                      {"Cookie: " + first, "Cookie: a=b; " + second, "Sec-Fetch-Site: same-origin"})
                  .status,
              200);
    EXPECT_TRUE(is_wiped());
    // Beside a key, which counts before them.
    EXPECT_EQ(service.request("GET /api/v1/keys", {}, {"Cookie: " + first + "; " + second}).status,
              200);
    EXPECT_TRUE(is_wiped());
}

// People look at usage by sessions; what they ask for is none itself.
TEST_F(session, is_no_usage_of_its_key) {
    auto const key = service.add_key({"users:read", "usage:read"});
    auto const requests = [&] {
        service.report_uses();
        return service.request("GET /api/v1/usage?key_id=" + std::to_string(service.last_key()))
            .at("/total/requests");
    };
    auto const cookie = begin(key);
    EXPECT_EQ(read("GET /api/v1/users", cookie).status, 200);
    EXPECT_EQ(read("GET /api/v1/posts", cookie).status, 403);
    EXPECT_EQ(read("GET /api/v1/nowhere", cookie).status, 404);
    EXPECT_EQ(change("POST /api/v1/session", cookie).status, 200);
    EXPECT_EQ(change("DELETE /api/v1/session", cookie).status, 204);
    EXPECT_EQ(requests(), "0");
    EXPECT_EQ(service.uses().last(service.last_key()), service.now.wall);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {bearer(key)}).status, 200);
    EXPECT_EQ(requests(), "1");
    // A login that is refused is somebody's use of the key.
    EXPECT_EQ(service.request_anonymous("POST /api/v1/session?x=1", {}, {bearer(key)}).status, 400);
    EXPECT_EQ(requests(), "2");
    auto const path = "POST /api/v1/keys/" + std::to_string(service.last_key());
    EXPECT_EQ(service.request(path + "/deactivate").status, 200);
    EXPECT_EQ(service.request_anonymous("POST /api/v1/session", {}, {bearer(key)}).code(),
              "key_deactivated");
    EXPECT_EQ(requests(), "3");
}

TEST_F(session, needs_the_key_in_a_header) {
    service.settings.allow_query = true;
    EXPECT_EQ(service.request_anonymous("POST /api/v1/session?api_key=" + service.key).code(),
              "key_missing");
    EXPECT_EQ(
        service.request_anonymous("POST /api/v1/session", R"({"api_key":")" + service.key + R"("})")
            .code(),
        "key_missing");
}

TEST_F(session, changes_something_only_from_an_own_page) {
    auto const cookie = begin(service.key);
    auto const body = R"({"name":"A","email":"a@b.c"})";
    EXPECT_EQ(change("POST /api/v1/users", cookie, body).status, 201);
    auto const all = own_page(cookie);
    for (std::size_t left_out : {2u, 3u}) {  // Origin, X-Requested-With
        auto fields = all;
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(left_out));
        EXPECT_EQ(service.request_anonymous("POST /api/v1/users", body, fields).code(),
                  "cross_site_request")
            << all[left_out];
    }
    for (auto const& [place, value] :
         {std::pair{1, "Sec-Fetch-Site: cross-site"}, std::pair{1, "Sec-Fetch-Site: same-site"},
          std::pair{1, "Sec-Fetch-Site: none"}, std::pair{2, "Origin: https://evil.test"},
          std::pair{2, "Origin: null"}, std::pair{2, "Origin: http://echo.invalid"},
          std::pair{2, "Origin: https://echo.invalid.evil.test"},
          std::pair{3, "X-Requested-With: XMLHttpRequest"}}) {
        auto fields = all;
        fields[static_cast<std::size_t>(place)] = value;
        EXPECT_EQ(service.request_anonymous("POST /api/v1/users", body, fields).code(),
                  "cross_site_request")
            << value;
        EXPECT_FALSE(service.committed);
    }
}

// Each of the lines is that of an own page, but two of them no browser sends.
TEST_F(session, is_refused_where_its_fields_are_repeated) {
    auto const cookie = "Cookie: " + begin(service.key);
    lines const all{cookie, "Sec-Fetch-Site: same-origin", "Origin: https://echo.invalid",
                    "X-Requested-With: latchkey"};
    auto const body = R"({"name":"Ada","email":"ada@example.com"})";
    for (std::string const line :
         {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site", "Origin: https://evil.test",
          "Origin: https://echo.invalid", "X-Requested-With: XMLHttpRequest"})
        for (bool const is_last : {true, false}) {
            auto fields = all;
            fields.insert(is_last ? fields.end() : fields.begin(), line);
            EXPECT_EQ(service.request_anonymous("POST /api/v1/users", body, fields).code(),
                      "cross_site_request")
                << line << is_last;
            EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, fields).code(),
                      "cross_site_request")
                << line << is_last;
        }
    EXPECT_EQ(service.request_anonymous("POST /api/v1/users", body, all).status, 201);
}

TEST_F(session, reads_only_for_an_own_page) {
    auto const cookie = "Cookie: " + begin(service.key);
    auto const get = [&](lines fields) {
        fields.push_back(cookie);
        return service.request_anonymous("GET /api/v1/users", {}, fields);
    };
    EXPECT_EQ(get({"Sec-Fetch-Site: same-origin"}).status, 200);
    EXPECT_EQ(get({"Origin: https://echo.invalid"}).status, 200);
    EXPECT_EQ(get({}).code(), "cross_site_request");
    EXPECT_EQ(get({"Sec-Fetch-Site: cross-site"}).code(), "cross_site_request");
    EXPECT_EQ(get({"Sec-Fetch-Site: same-origin", "Origin: https://evil.test"}).code(),
              "cross_site_request");
}

// A proxy that ends TLS says that its client came by https, so a page that came without it is none of
// this service's.
TEST_F(session, reads_for_a_page_of_the_clients_scheme_behind_a_proxy) {
    auto const cookie = "Cookie: " + begin(service.key);
    service.settings.trusted_proxies = {*model::cidr::parse("203.0.113.0/24")};
    service.peer.tls = false;
    auto const get = [&](std::string const& origin) {
        return service.request_anonymous(
            "GET /api/v1/users", {},
            {cookie, origin, "X-Forwarded-Proto: https", "X-Forwarded-For: 192.0.2.1"});
    };
    EXPECT_EQ(get("Origin: https://echo.invalid").status, 200);
    EXPECT_EQ(get("Origin: http://echo.invalid").code(), "cross_site_request");
}

TEST_F(session, counts_after_a_key_of_another_way) {
    auto const cookie = begin(service.key);
    auto const reader = service.add_key({"users:read"});
    EXPECT_EQ(
        service
            .request_anonymous("GET /api/v1/keys", {},
                               {bearer(reader), "Cookie: " + cookie, "Sec-Fetch-Site: same-origin"})
            .code(),
        "insufficient_scope");
}

TEST_F(session, is_refused_when_it_is_bent_expired_or_of_another_service) {
    auto const cookie = begin(service.key);
    auto const challenge = [&](std::string const& text) {
        auto const response = read("GET /api/v1/users", text);
        EXPECT_EQ(response.status, 401) << text;
        EXPECT_EQ(response.code(), "session_invalid") << text;
    };
    for (std::size_t place = cookie.find('=') + 1; place < cookie.size(); place += 7) {
        auto altered = cookie;
        altered[place] = altered[place] == '0' ? '1' : '0';
        challenge(altered);
    }
    challenge(cookie.substr(0, cookie.size() - 2));
    challenge(cookie + "00");
    challenge("__Host-latchkey=");
    std::array<char, 32> const other_secret{'t'};
    auth::session_cipher const other(other_secret);
    challenge("__Host-latchkey=" + other.seal({.key_digest = {},
                                               .started_at = service.now.wall,
                                               .expires_at = service.now.wall + session_hour}));
    service.advance(session_hour - 1);
    EXPECT_EQ(read("GET /api/v1/users", cookie).status, 200);
    service.advance(1);
    challenge(cookie);
}

TEST_F(session, goes_on_for_half_a_day) {
    auto cookie = begin(service.key);
    for (int halves = 0; halves < 24; ++halves) {
        auto const response = change("POST /api/v1/session", cookie);
        ASSERT_EQ(response.status, 200) << halves;
        cookie = cookie_of(response);
        service.advance(session_hour / 2);
    }
    EXPECT_EQ(change("POST /api/v1/session", cookie).code(), "session_invalid");
}

TEST_F(session, ends_with_its_key) {
    auto const key = service.add_key({"users:read"});
    auto const id = std::to_string(service.last_key());
    auto const cookie = begin(key);
    EXPECT_EQ(read("GET /api/v1/users", cookie).status, 200);
    EXPECT_EQ(service.request("POST /api/v1/keys/" + id + "/deactivate").status, 200);
    EXPECT_EQ(read("GET /api/v1/users", cookie).code(), "key_deactivated");
}

TEST_F(session, is_forgotten_by_the_browser) {
    auto const cookie = begin(service.key);
    auto const response = change("DELETE /api/v1/session", cookie);
    EXPECT_EQ(response.status, 204);
    EXPECT_EQ(response.field("Set-Cookie"),
              "__Host-latchkey=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0");
    EXPECT_EQ(response.field("Cache-Control"), "no-store");
}

TEST_F(session, ends_everywhere) {
    auto const other_key = service.add_key({"users:read"});
    auto const first = begin(service.key), second = begin(service.key), other = begin(other_key);
    EXPECT_EQ(change("DELETE /api/v1/sessions", first).status, 204);
    EXPECT_EQ(read("GET /api/v1/users", first).code(), "session_invalid");
    EXPECT_EQ(read("GET /api/v1/users", second).code(), "session_invalid");
    EXPECT_EQ(read("GET /api/v1/users", other).status, 200);
    EXPECT_EQ(read("GET /api/v1/users", begin(service.key)).status, 200);
    auto const audit = service.request("GET /api/v1/audit?sort=-id&limit=1");
    EXPECT_EQ(audit.at("/data/0/action"), "\"key.end_sessions\"");
}

// In a cluster it may have begun at a node whose clock is ahead of that of the node that ends it.
TEST_F(session, ends_whatever_the_clocks_say) {
    service.advance(session_minute);
    auto const first = begin(service.key);
    service.advance(-session_minute);
    EXPECT_EQ(service.request("DELETE /api/v1/sessions").status, 204);
    EXPECT_EQ(read("GET /api/v1/users", first).code(), "session_invalid");
    service.advance(-session_minute);
    auto const second = begin(service.key);
    EXPECT_EQ(read("GET /api/v1/users", second).status, 200);
    auto const renewed = cookie_of(change("POST /api/v1/session", second));
    EXPECT_EQ(read("GET /api/v1/users", renewed).status, 200);
    EXPECT_EQ(service.request("DELETE /api/v1/sessions").status, 204);
    EXPECT_EQ(read("GET /api/v1/users", renewed).code(), "session_invalid");
}

TEST_F(session, ends_with_its_streams) {
    auto const cookie = begin(service.key);
    service.request_anonymous(
        "GET /api/v1/changes", {},
        {"Cookie: " + cookie, "Sec-Fetch-Site: same-origin", "Accept: text/event-stream"});
    auto const stream = service.exchange.take_event_stream();
    ASSERT_NE(stream, nullptr);
    auto const append = [&] {
        std::string output;
        return stream->append(service.services(), service.now, 0, output);
    };
    EXPECT_NE(append(), event_stream::progress::ended);
    EXPECT_EQ(service.request("DELETE /api/v1/sessions").status, 204);
    EXPECT_EQ(service.request("GET /api/v1/users").status, 200);  // a new snapshot
    EXPECT_EQ(append(), event_stream::progress::ended);
}

TEST_F(session, is_not_passed_on_by_gateways) {
    auto const cookie = begin(service.key);
    EXPECT_EQ(read("GET /auth", cookie).code(), "key_missing");
}

TEST_F(session, is_not_there_without_the_console) {
    auto const cookie = begin(service.key);
    service.services().sessions = nullptr;
    EXPECT_EQ(read("GET /api/v1/users", cookie).code(), "key_missing");
    EXPECT_EQ(service.request("POST /api/v1/session").code(), "route_not_found");
}

TEST_F(session, is_sealed_differently_each_time) {
    EXPECT_NE(begin(service.key), begin(service.key));
}

}  // namespace
}  // namespace latchkey::api
