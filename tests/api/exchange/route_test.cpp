// Paths and methods (api.md §1): the route table, ids in paths, Allow, paths without the prefix.
#include "api/frame/route.hpp"

#include "../harness.hpp"

namespace latchkey::api {
namespace {

std::string one_of(std::string_view pattern, std::string_view id) {
    auto path = public_path(pattern);
    if (auto const i = path.find("{id}"); i != path.npos) path.replace(i, 4, id);
    if (auto const i = path.find("{event_source}"); i != path.npos) path.replace(i, 14, "shop");
    return path;
}

TEST(routes, each_pattern_has_each_method_once_and_allows_it) {
    for (auto const& each : routes()) {
        std::size_t count = 0;
        for (auto const& other : routes())
            count += other.pattern == each.pattern && other.method == each.method;
        EXPECT_EQ(count, 1u) << each.pattern;
        auto const path = one_of(each.pattern, "7");
        auto const matched = find_route(each.method, path);
        EXPECT_EQ(matched.route, &each) << path;
        EXPECT_EQ(matched.pattern, each.pattern);
        EXPECT_FALSE(matched.unprefixed);
        EXPECT_EQ(find_row(http::name_of(each.method), each.pattern), &each);
        auto const allowed = ", " + allowed_methods(each.pattern) + ",";
        EXPECT_NE(allowed.find(", " + std::string(http::name_of(each.method)) + ","), allowed.npos);
        EXPECT_NE(allowed.find(", OPTIONS,"), allowed.npos);
    }
}

// Every way to a resource needs a scope, whatever the method.
TEST(routes, the_path_of_a_request_gives_a_prefetch_hint) {
    auto const sees = [](std::string_view request) -> std::string {
        auto const hint = read_prefetch_hint(request);
        if (!hint) return "nothing";
        return (hint->resource == domain::resource::user ? "user " : "post ") +
               std::to_string(hint->id);
    };
    EXPECT_EQ(sees("GET /api/v1/users/42 HTTP/1.1\r\nHost: a\r\n\r\n"), "user 42");
    EXPECT_EQ(sees("GET /api/v1/posts/9007199254740991 HTTP/1.1\r\n"), "post 9007199254740991");
    EXPECT_EQ(sees("GET /users/7 "), "user 7");
    for (auto const* const other :
         {"", "GET", "GET ", "GET /", "GET /api/v1/users HTTP/1.1\r\n", "GET /api/v1/users/0 HTTP",
          "GET /api/v1/users/9007199254740992 HTTP/1.1", "GET /api/v1/users/a HTTP/1.1",
          "GET /api/v1/users/1?include=posts HTTP/1.1", "GET /api/v1/users/1/posts HTTP/1.1",
          "GET /api/v1/keys/1 HTTP/1.1", "GET /healthz HTTP/1.1", "DELETE /api/v1/users/1 HTTP/1.1",
          "PATCH /api/v1/posts/1 HTTP/1.1", "get /api/v1/users/1 HTTP/1.1"})
        EXPECT_EQ(sees(other), "nothing") << other;
    EXPECT_EQ(sees("GET /" + std::string(100'000, 'x') + " HTTP/1.1"), "nothing");
}

TEST_F(api_test, routes_need_their_scope) {
    auto const id = service.add_user();
    service.add_post(id);
    for (auto const& each : routes()) {
        bool const keyed = each.pattern.find("/keys/") != std::string_view::npos;
        auto const line = std::string(http::name_of(each.method)) + " " +
                          one_of(each.pattern, keyed ? "999999" : "1");
        if (std::holds_alternative<public_route>(each.run)) {
            EXPECT_LT(service.request_anonymous(line, {}, {"Accept: text/html,*/*"}).status, 400)
                << line;
            continue;
        }
        if (!each.scope) {
            EXPECT_NE(
                service.request_anonymous(line, {}, {bearer(service.add_key({"events:read"}))})
                    .status,
                403);
            continue;
        }
        std::string const scope(model::name_of(*each.scope));
        bool const reads = each.method == http::method::get;
        bool const manages =
            each.pattern.ends_with("/secret") || each.pattern.ends_with("/sources");
        EXPECT_EQ(scope == "events:manage", manages) << line;
        EXPECT_TRUE(scope.ends_with(reads ? ":read" : ":write") || scope == "keys:verify" ||
                    scope == "*" || manages)
            << line;
        std::vector<std::string_view> others{
            "users:read",   "users:write",   "posts:read",   "posts:write",   "keys:read",
            "keys:write",   "keys:verify",   "usage:read",   "audit:read",    "events:read",
            "events:write", "events:manage", "changes:read", "webhooks:read", "webhooks:write"};
        std::erase(others, scope);
        auto const response =
            service.request_anonymous(line, "{}", {bearer(service.add_key(others))});
        EXPECT_EQ(response.code(), "insufficient_scope") << line;
        EXPECT_EQ(response.field("WWW-Authenticate"),
                  R"(Bearer realm="api", error="insufficient_scope", scope=")" + scope + '"');
        others.push_back(scope);
        EXPECT_NE(service.request_anonymous(line, "{", {bearer(service.add_key(others))}).status,
                  403)
            << line;
    }
}

TEST_F(api_test, wildcards_open_what_they_cover) {
    service.add_user();
    struct {
        std::string_view scope, line;
        int status;
    } const rows[] = {
        {"users:*", "GET /api/v1/users/1", 200},
        {"users:*", "PATCH /api/v1/users/1", 200},
        {"users:*", "GET /api/v1/posts", 403},
        {"*:read", "GET /api/v1/posts", 200},
        {"*:read", "PATCH /api/v1/users/1", 403},
        {"*:read", "GET /api/v1/users/1/posts", 200},
        {"*:write", "PATCH /api/v1/users/1", 200},
        {"*:write", "GET /api/v1/users", 403},
        {"users:write", "GET /api/v1/users/1", 403},
        {"*:write", "PUT /api/v1/events/shop/secret", 403},
        {"keys:*", "PUT /api/v1/events/shop/secret", 403},
        {"events:*", "PUT /api/v1/events/shop/secret", 201},
        {"*:read", "GET /api/v1/events/shop/secret", 403},
        {"keys:*", "GET /api/v1/events/shop/secret", 403},
        {"events:manage", "GET /api/v1/events/shop/secret", 200},
        {"*:write", "DELETE /api/v1/events/shop/secret", 403},
        {"keys:*", "DELETE /api/v1/events/shop/secret", 403},
        {"events:manage", "DELETE /api/v1/events/shop/secret", 204},
        {"*", "GET /api/v1/users/1?include=posts", 200},
    };
    for (auto const& row : rows) {
        auto const body = row.line.starts_with("PATCH") ? "{}" : "";
        auto const response =
            service.request_anonymous(row.line, body, {bearer(service.add_key({row.scope}))});
        EXPECT_EQ(response.status, row.status) << row.scope << " " << row.line;
    }
}

TEST_F(api_test, posts_of_a_user_need_both_scopes) {
    auto const id = std::to_string(service.add_user());
    auto const users = bearer(service.add_key({"users:read"}));
    auto const posts = bearer(service.add_key({"posts:read"}));
    auto const both = bearer(service.add_key({"users:read", "posts:read"}));
    for (std::string const path :
         {"/posts", "?include=posts", "?include=nothing", "?%69nclude=posts"}) {
        auto const line = "GET /api/v1/users/" + id + path;
        auto const response = service.request_anonymous(line, {}, {users});
        EXPECT_EQ(response.code(), "insufficient_scope") << line;
        EXPECT_NE(response.field("WWW-Authenticate").find(R"(scope="posts:read")"),
                  std::string::npos);
        auto const other = service.request_anonymous(line, {}, {posts});
        EXPECT_NE(other.field("WWW-Authenticate").find(R"(scope="users:read")"), std::string::npos);
        EXPECT_NE(service.request_anonymous(line, {}, {both}).status, 403);
    }
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users/" + id, {}, {users}).status, 200);
    auto const writer = bearer(service.add_key({"users:write"}));
    service.add_post(std::stoll(id));
    EXPECT_EQ(service.request_anonymous("DELETE /api/v1/users/" + id, {}, {writer}).status, 204);
}

TEST_F(api_test, an_id_is_a_positive_integer_and_nothing_else) {
    auto const id = std::to_string(service.add_user());
    service.add_post(1);
    ASSERT_EQ(id, "1");
    for (std::string const text :
         {"0", "01", "-1", "+1", "1.0", "1e0", "0x1", "a", "1a", "%31", "9007199254740992",
          "9999999999999999", "10000000000000000", "18446744073709551617", "1;a", "~"}) {
        for (std::string const path : {"/api/v1/users/", "/api/v1/posts/", "/users/"})
            for (std::string const method : {"GET ", "DELETE "})
                EXPECT_EQ(service.request(method + path + text).code(), "not_found")
                    << path << text;
        EXPECT_EQ(service.request("GET /api/v1/users/" + text + "/posts").code(), "not_found")
            << text;
        EXPECT_EQ(service.request("PUT /api/v1/users/" + text, "{}").code(), "not_found") << text;
    }
    EXPECT_EQ(service.request("GET /api/v1/users/9007199254740991").code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/users/1").status, 200);
}

TEST_F(api_test, other_paths_are_not_found) {
    service.add_user();
    for (std::string const path :
         {"/api", "/api/v1", "/api/v1/", "/api/v1/users/", "/api/v1/users/1/",
          "/api/v1/users//posts", "/api/v1//users", "//api/v1/users", "/api/v1/users/1/posts/",
          "/api/v1/users/1/posts/1", "/api/v2/users", "/api/v10/users", "/api/v1users",
          "/API/v1/users", "/api/v1/Users", "/users/", "/posts/1/", "/api/v1/healthz", "/healthz/",
          "/api/v1/problems/not_found", "/api/v1/api/v1/users", "/api/v1/users/../users",
          // Paths that other software may read as public or as existing ones.
          "/healthz/../api/v1/users", "/healthz/..;/api/v1/users", "/healthz/%2e%2e/api/v1/users",
          "/healthz;a=b", "/healthz%00", "/%68ealthz", "/api/v1/%75sers", "/api/v1/users%2f1",
          "/api/v1/users%00", "/api/v1/users;a=b"}) {
        for (std::string const method : {"GET ", "POST ", "OPTIONS "}) {
            EXPECT_EQ(service.request(method + path).code(), "route_not_found") << method << path;
            EXPECT_EQ(service.request_anonymous(method + path).code(), "key_missing")
                << method << path;
        }
    }
}

TEST_F(api_test, other_methods_and_options_list_the_allowed_methods) {
    std::pair<std::string_view, std::string_view> const rows[] = {
        {"/api/v1/users", "GET, HEAD, POST, OPTIONS"},
        {"/api/v1/users/{id}", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"},
        {"/api/v1/users/{id}/posts", "GET, HEAD, OPTIONS"},
        {"/api/v1/posts", "GET, HEAD, POST, OPTIONS"},
        {"/api/v1/events/{id}", "GET, HEAD, POST, OPTIONS"},
        {"/api/v1/events/{event_source}", "GET, HEAD, POST, OPTIONS"},
        {"/events/{event_source}", "GET, HEAD, POST, OPTIONS"},
        {"/api/v1/posts/{id}", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"},
        {"/healthz", "GET, HEAD, OPTIONS"},
        {"/problems/{code}", "GET, HEAD, OPTIONS"},
    };
    service.add_user();
    for (auto const& [pattern, allowed] : rows) {
        auto const path = one_of(pattern, "1");
        auto const options = service.request("OPTIONS " + path);
        EXPECT_EQ(options.status, 204) << path;
        EXPECT_EQ(options.fields("Allow"), lines{std::string(allowed)});
        EXPECT_EQ(options.body, "");
        for (std::string const method :
             {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "LINK", "PROPFIND"}) {
            if (allowed.find(method + ",") != allowed.npos) continue;
            auto const response = service.request(method + " " + path);
            EXPECT_EQ(response.code(), "method_not_allowed") << method << path;
            EXPECT_EQ(response.fields("Allow"), lines{std::string(allowed)});
        }
    }
    EXPECT_EQ(service.request_anonymous("OPTIONS /healthz").status, 204);
}

TEST_F(api_test, options_about_the_whole_server) {
    auto const response = service.request("OPTIONS *");
    EXPECT_EQ(response.status, 204);
    EXPECT_EQ(response.field("Allow"), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    EXPECT_EQ(service.request_anonymous("OPTIONS *").code(), "key_missing");
}

TEST_F(api_test, head_is_get_without_content) {
    auto const id = std::to_string(service.add_user());
    for (auto const& path : lines{"/api/v1/users", "/api/v1/users/" + id, "/api/v1/posts",
                                  "/api/v1/users/" + id + "?include=posts", "/users/" + id,
                                  "/api/v1/users/9", "/api/v1/users?page=0", "/healthz"}) {
        auto const same = [](std::string head) {
            auto const i = head.find("X-Request-Id: ");
            return head.erase(i, head.find("\r\n", i) - i);
        };
        auto const get = service.request("GET " + path), head = service.request("HEAD " + path);
        EXPECT_EQ(same(head.head), same(get.head));
        EXPECT_EQ(head.body, "");
        EXPECT_NE(get.body, "");
    }
}

TEST_F(api_test, paths_without_the_prefix_name_the_canonical_one) {
    service.settings.base_url = "https://api.example.com";
    auto const id = std::to_string(service.add_user());
    auto const post = std::to_string(service.add_post(1));
    for (auto const& path : lines{"/users", "/users/" + id, "/users/" + id + "/posts",
                                  "/users/" + id + "?include=posts", "/posts", "/posts/" + post,
                                  "/users/77", "/posts?status=nothing"}) {
        auto const response = service.request("GET " + path),
                   prefixed = service.request("GET /api/v1" + path);
        EXPECT_EQ(response.status, prefixed.status) << path;
        if (response.status == 200) EXPECT_EQ(response.body, prefixed.body);
        auto links = response.links();
        EXPECT_EQ(links["canonical"],
                  "https://api.example.com/api/v1" + path.substr(0, path.find('?')));
        links.erase("canonical");
        EXPECT_EQ(links, prefixed.links()) << path;
        EXPECT_EQ(service.request("OPTIONS " + path).links().count("canonical"), 1u);
    }
    auto const event = service.request("POST /events/shop", "{}");
    EXPECT_EQ(event.status, 202);
    EXPECT_EQ(event.links()["canonical"], "https://api.example.com/api/v1/events/shop");
    EXPECT_EQ(service.request("GET /events/1").body, service.request("GET /api/v1/events/1").body);
    EXPECT_EQ(service.request("GET /events").code(), "route_not_found");
    EXPECT_EQ(service.request("PUT /events/shop/secret").code(), "route_not_found");
    auto const response = service.request("POST /users", R"({"name":"A","email":"a@b.c"})");
    EXPECT_EQ(response.field("Location"), "https://api.example.com/api/v1/users/2");
    EXPECT_EQ(response.links(), (std::map<std::string, std::string>{
                                    {"canonical", "https://api.example.com/api/v1/users"}}));
    EXPECT_EQ(service.request("DELETE /users/2").status, 204);
}

}  // namespace
}  // namespace latchkey::api
