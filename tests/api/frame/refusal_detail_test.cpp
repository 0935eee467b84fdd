// The details of refusals: what was seen and what is accepted (api.md §11).
#include "api/frame/refusal_detail.hpp"

#include "../harness.hpp"

namespace latchkey::api {
namespace {

bool has(std::string const& text, std::string_view part) {
    return text.find(part) != text.npos;
}

TEST(summary, names_the_first_members_and_counts_the_others) {
    EXPECT_EQ(summary_of({}), "");
    std::vector<base::fault> faults(7);
    for (std::size_t i = 0; i < faults.size(); ++i)
        faults[i] = {.location = "/m" + std::to_string(i), .detail = "is required"};
    faults[1].location = "";
    faults[2] = {base::fault::location_kind::header, "Idempotency-Key", {}, "must be there once"};
    EXPECT_EQ(summary_of(faults),
              "`m0` is required. The body is required. `Idempotency-Key` must be there once. "
              "`m3` is required. `m4` is required. There are 2 more.");
}

TEST_F(api_test, a_refused_body_is_described_in_words) {
    auto const response = service.request("POST /api/v1/users", R"({"email":"no","colour":"red"})");
    EXPECT_EQ(response.code(), "validation_failed");
    EXPECT_EQ(response.at("/detail"), R"("`name` is required. `email` must be an email address. )"
                                      R"(`colour` is not a member of this resource.")");
}

// The names are those that the operation takes; nothing is said of a name that is near to none, or
// to several.
TEST_F(api_test, an_unknown_name_gets_the_nearest_one) {
    auto const member = [&](std::string const& name) {
        return service
            .request("POST /api/v1/keys", R"({"name":"k","scopes":["*"],")" + name + R"(":1})")
            .at("/errors/0/detail");
    };
    EXPECT_EQ(member("expire_in"),
              R"("`expire_in` is not a member of this resource: did you mean `expires_in`?")");
    EXPECT_EQ(member("Ip-AllowList"), R"("`Ip-AllowList` is not a member of this resource: )"
                                      R"(did you mean `ip_allowlist`?")");
    // The operation refuses `id` and `state`, so it takes none that is near.
    for (std::string const name : {"colour", "expire", "user_id", "e", "idd", "stat"})
        EXPECT_EQ(member(name), "\"`" + name + "` is not a member of this resource.\"");
    auto const inner = service.request(
        "POST /api/v1/keys",
        R"({"name":"k","rate_limits":[{"name":"m","limit":1,"window_second":60}]})");
    EXPECT_TRUE(has(inner.body, "did you mean `window_seconds`?")) << inner.body;
    // A long name is compared with none, and only its beginning is repeated.
    auto const detail = member("expires_in" + std::string(100'000, '_'));
    EXPECT_TRUE(detail.ends_with("_` is not a member of this resource.\"")) << detail.size();
    EXPECT_LT(detail.size(), 300u);

    auto const parameter = [&](std::string const& query) {
        return service.request("GET /api/v1/users?" + query).at("/detail");
    };
    EXPECT_EQ(parameter("limits=5"),
              R"("`limits` is not a parameter of this path: did you mean `limit`?")");
    EXPECT_EQ(parameter("emial=a"),
              R"("`emial` is not a parameter of this path: did you mean `email`?")");
    EXPECT_EQ(parameter(std::string(300, 'p') + "=1"),
              "\"`" + std::string(200, 'p') + "` is not a parameter of this path.\"");
    EXPECT_EQ(parameter("status=draft"), R"("`status` is not a parameter of this path.")");
    EXPECT_EQ(service.request("GET /api/v1/posts?stats=draft").at("/detail"),
              R"("`stats` is not a parameter of this path: did you mean `status`?")");
}

TEST_F(api_test, an_unknown_path_gets_the_nearest_one) {
    std::pair<std::string_view, std::string_view> const rows[] = {
        {"/api/v1/user/5", "/api/v1/users/{id}"},
        {"/api/v1/users/5/post", "/api/v1/users/{id}/posts"},
        {"/api/v1/users/", "/api/v1/users"},
        {"/API/V1/Users/5", "/api/v1/users/{id}"},
        {"/keys/current", "/api/v1/keys/current"},
        {"/v1/webhooks", "/api/v1/webhooks"},
        {"/api/v1/healthz", "/healthz"},
        {"/openapi", "/openapi.json"},
    };
    for (auto const& [path, pattern] : rows) {
        auto const response = service.request("GET " + std::string(path));
        EXPECT_EQ(response.code(), "route_not_found") << path;
        EXPECT_EQ(response.at("/detail"),
                  "\"There is no such path. Did you mean `" + std::string(pattern) + "`?\"");
    }
    for (std::string const path :
         {"/api/v1", "/api/v1/", "/api", "/api/v1/cats", "/api/v1/5", "/console.php", "//", "/%2e",
          "/api/v1/keys/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20"})
        EXPECT_EQ(service.request("GET " + path).at("/detail").find("mean"), std::string::npos)
            << path;
    for (std::string const path : {"/api/v2/users", "/api/v2/users/", "/api/latest"})
        EXPECT_EQ(service.request("GET " + path).at("/detail"),
                  R"("There is no such path. Those of this version begin with `/api/v1`.")")
            << path;
    EXPECT_EQ(service.request("GET /api/v1/cats").at("/detail"),
              R"("There is no such path. Check it against /openapi.json, which has all paths.")");
    EXPECT_FALSE(has(service.request("GET /api/v1/user" + std::string(5000, 's')).body, "ssss"));
    EXPECT_FALSE(has(service.request_anonymous("GET /api/v1/user/5").body, "mean"));
}

TEST_F(api_test, a_key_out_of_its_time_gets_the_time) {
    service.now.wall = base::parse_timestamp("2026-01-02T03:04:05Z").value();
    auto const start = service.now.wall;
    auto const key =
        bearer(service.add_key({"*"}, {.not_before = start + 1000, .expires_at = start + 3000}));
    auto const detail = [&] {
        return service.request_anonymous("GET /api/v1/users", {}, {key}).at("/detail");
    };
    EXPECT_EQ(detail(), R"("The key is valid from 2026-01-02T03:04:06.000Z on. Wait until then.")");
    service.advance(3000);
    EXPECT_EQ(detail(), R"("The key expired at 2026-01-02T03:04:08.000Z. )"
                        R"(Ask for another one; rotate keys before they expire.")");
}

TEST_F(api_test, a_taken_address_points_to_the_member) {
    auto const text = R"({"name":"Ada","email":"ada@example.com"})";
    service.request("POST /api/v1/users", text);
    for (int repeat = 0; repeat < 2; ++repeat) {  // the second is replayed
        auto const response =
            service.request("POST /api/v1/users", text, {"Idempotency-Key: once"});
        EXPECT_EQ(response.code(), "email_taken");
        EXPECT_EQ(response.faults(),
                  (std::map<std::string, std::string>{{"/email", "not_unique"}}));
        EXPECT_TRUE(has(response.at("/detail"), "Use another one"));
    }
}

TEST_F(api_test, limits_are_named) {
    service.settings.request_line_bytes_max = service.http_limits.request_line_bytes_max = 300;
    service.settings.header_bytes_max = service.http_limits.header_bytes_max = 2000;
    service.settings.body_bytes_max = service.http_limits.body_bytes_max = 5000;
    auto const detail = [&](reply const& response, int status) {
        EXPECT_EQ(response.status, status) << response.body;
        return response.at("/detail");
    };
    EXPECT_TRUE(
        has(detail(service.request("GET /" + std::string(400, 'a')), 414), "more than 300 bytes"));
    EXPECT_TRUE(has(
        detail(service.request("GET /api/v1/users", {}, {"X-A: " + std::string(2500, 'a')}), 431),
        "more than 2000 bytes or more than 100 fields"));
    EXPECT_TRUE(has(detail(service.request("POST /api/v1/users", std::string(6000, ' ')), 413),
                    "more than 5000 bytes"));
    service.settings.body_bytes_max = service.http_limits.body_bytes_max = 1 << 20;
    EXPECT_TRUE(
        has(detail(service.request("POST /api/v1/events/a", std::string(300'000, ' ')), 413),
            "more than 262144 bytes"));
    EXPECT_TRUE(
        has(detail(service.request_anonymous("POST /api/v1/users", std::string(200'000, ' ')), 413),
            "more than 131072 bytes"));
}

TEST_F(api_test, limits_of_trailers_are_named) {
    auto const body = in_chunks("POST /api/v1/users", {bearer(service.key)}, "{}");
    auto const send = [&](std::string const& trailers) {
        return service.send(body.substr(0, body.size() - 2) + trailers + "\r\n");
    };
    std::string many;
    for (int i = 0; i < 33; ++i) many += "X-" + std::to_string(i) + ": a\r\n";
    for (auto const& trailers : {"X-A: " + std::string(5000, 'a') + "\r\n", many}) {
        auto const response = send(trailers);
        EXPECT_EQ(response.status, 431) << response.body;
        EXPECT_EQ(response.code(), "headers_too_large");
        EXPECT_TRUE(has(response.at("/detail"),
                        "The trailers have more than 4096 bytes or more than 32 fields"))
            << response.body;
        EXPECT_FALSE(service.committed);
    }
    EXPECT_EQ(send("X-A: a\r\n").code(), "validation_failed") << "few are dropped";
}

TEST_F(api_test, what_is_no_scope_gets_the_nearest) {
    auto const refusal = [&](std::string const& request, std::string const& name) {
        auto const response =
            service.request(request, R"({)" + name + R"("scopes":["users:raed"]})");
        EXPECT_EQ(response.at("/detail"),
                  R"("`scopes/0` is not a scope: did you mean `users:read`?")");
    };
    refusal("POST /api/v1/keys", R"("name":"k",)");
    refusal("PATCH /api/v1/keys/" + std::to_string(service.last_key()), "");
}

TEST_F(api_test, what_is_near_to_no_scope_gets_the_scopes_once) {
    auto const response =
        service.request("POST /api/v1/keys", R"({"name":"k","scopes":["admin","none","*"]})");
    EXPECT_EQ(response.code(), "validation_failed");
    EXPECT_EQ(response.faults().size(), 2u);
    EXPECT_TRUE(has(response.at("/errors/0/detail"), "is not a scope; scopes are users:read, "));
    EXPECT_TRUE(
        has(response.at("/errors/0/detail"), "webhooks:*, keys:verify_all, events:write:SOURCE"));
    EXPECT_EQ(response.at("/errors/1/detail"), R"("`scopes/1` is not a scope.")");
}

TEST_F(api_test, a_post_stays_with_its_user) {
    auto const ada = service.add_user(), ben = service.add_user();
    auto const path = "PATCH /api/v1/posts/" + std::to_string(service.add_post(ada));
    auto const response = service.request(path, R"({"user_id":)" + std::to_string(ben) + "}");
    EXPECT_EQ(response.faults(),
              (std::map<std::string, std::string>{{"/user_id", "read_only_field"}}));
    EXPECT_TRUE(has(response.at("/detail"), "`user_id` cannot change, a post stays with its user"));
    EXPECT_EQ(service.request(path, R"({"user_id":)" + std::to_string(ada) + "}").status, 200);
}

}  // namespace
}  // namespace latchkey::api
