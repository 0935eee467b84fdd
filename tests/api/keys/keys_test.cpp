// Keys over HTTP (api.md §4): bodies and their faults, each route, visibility. The rules of grants
// are tested one by one in tests/domain/keys/key_life_test.cpp.
#include <algorithm>

#include "../harness.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;

class keys : public api_test {
  protected:
    static std::string path(model::id id, std::string_view action = {}) {
        return "/api/v1/keys/" + std::to_string(id) + std::string(action);
    }
    reply make(std::string_view body) { return service.request("POST /api/v1/keys", body); }
    // A request with that key.
    reply as(std::string const& key, std::string_view line, std::string_view body = {}) {
        return service.request_anonymous(line, body, {bearer(key)});
    }
    std::string text_of(reply const& response) {
        auto const quoted = response.at("/key");
        return quoted.size() == 50 ? quoted.substr(1, 48) : "";
    }
};

TEST_F(keys, are_made_and_shown_once) {
    auto const response =
        make(R"({"name":"ci","environment":"staging","scopes":["posts:*","users:read"],)"
             R"("expires_in":3600,"ip_allowlist":["203.0.113.0/24"],"metadata":{"team":"a"},)"
             R"("rate_limits":[{"name":"s","limit":5,"window_seconds":1,"burst":9}]})");
    ASSERT_EQ(response.status, 201) << response.body;
    EXPECT_EQ(response.field("Location"), path(response.id()));
    EXPECT_EQ(response.field("Cache-Control"), "no-store");
    auto const key = text_of(response);
    ASSERT_TRUE(auth::has_key_form(key));
    EXPECT_EQ(response.at("/start"), '"' + key.substr(0, 8) + '"');
    EXPECT_EQ(response.at("/last4"), '"' + key.substr(44) + '"');
    EXPECT_EQ(response.at("/created_by"), "1");
    EXPECT_EQ(response.at("/state"), "\"active\"");
    EXPECT_EQ(response.at("/rate_limits/0/burst"), "9");
    auto const shown_key = service.request("GET " + path(response.id()));
    EXPECT_EQ(shown_key.status, 200);
    EXPECT_EQ(shown_key.body.find(key), std::string::npos);
    EXPECT_EQ(shown_key.at("/name"), "\"ci\"");
    EXPECT_EQ(as(key, "GET /api/v1/posts").status, 200);
}

TEST_F(keys, have_defaults) {
    auto const response = make(R"({"name":"n"})");
    EXPECT_EQ(response.at("/scopes"), R"(["users:read","posts:read"])");
    EXPECT_EQ(response.at("/project"), "\"default\"");
    EXPECT_EQ(response.at("/expires_at"), "null");
    EXPECT_EQ(response.at("/rate_limits/1/limit"), "20000");
    service.settings.key_ttl_seconds = 60;
    EXPECT_NE(make(R"({"name":"n"})").at("/expires_at"), "null");
    EXPECT_EQ(make(R"({"name":"n","expires_at":null})").at("/expires_at"), "null");
    service.settings.key_ttl_seconds = 0;
    // Of the two default scopes only those that the caller holds; none is a fault.
    auto const some = service.add_key({"keys:write", "posts:read"}, {});
    auto const created = as(some, "POST /api/v1/keys", R"({"name":"n"})");
    EXPECT_EQ(created.at("/scopes"), R"(["posts:read"])") << created.body;
    auto const none =
        as(service.add_key({"keys:write"}, {}), "POST /api/v1/keys", R"({"name":"n"})");
    EXPECT_EQ(none.faults(), (faults{{"/scopes", "required"}}));
}

TEST_F(keys, bodies_report_all_faults) {
    struct {
        std::string_view body;
        faults expected;
    } const rows[] = {
        {"{}", {{"/name", "required"}}},
        {R"({"name":"","project":"A","environment":"x","scopes":["users:rea",1],"extra":1})",
         {{"/name", "too_short"},
          {"/project", "invalid_format"},
          {"/environment", "not_in_enum"},
          {"/scopes/0", "not_in_enum"},
          {"/scopes/1", "invalid_type"},
          {"/extra", "unknown_field"}}},
        {R"({"name":"   "})", {{"/name", "invalid_format"}}},
        {R"({"name":"n","scopes":[]})", {{"/scopes", "too_short"}}},
        {R"({"name":"n","scopes":null})", {{"/scopes", "null_not_allowed"}}},
        {R"({"name":"n","expires_in":59})", {{"/expires_in", "out_of_range"}}},
        {R"({"name":"n","expires_in":157680001})", {{"/expires_in", "out_of_range"}}},
        {R"({"name":"n","expires_in":60,"expires_at":"2099-01-01T00:00:00Z"})",
         {{"/expires_in", "invalid_format"}}},
        {R"({"name":"n","expires_at":"2001-01-01T00:00:00Z"})", {{"/expires_at", "out_of_range"}}},
        {R"({"name":"n","expires_at":"2098-01-01T00:00:00Z","not_before":"2099-01-01T00:00:00Z"})",
         {{"/expires_at", "out_of_range"}}},
        {R"({"name":"n","not_before":"soon"})", {{"/not_before", "invalid_format"}}},
        {R"({"name":"n","ip_allowlist":["10.0.0.1/8","x",3]})",
         {{"/ip_allowlist/0", "invalid_format"},
          {"/ip_allowlist/1", "invalid_format"},
          {"/ip_allowlist/2", "invalid_type"}}},
        {R"({"name":"n","rate_limits":[{"name":"A","limit":0,"x":1},{"name":"a","limit":1,)"
         R"("window_seconds":1},{"name":"a","limit":1,"window_seconds":1},7]})",
         {{"/rate_limits/0/name", "invalid_format"},
          {"/rate_limits/0/limit", "out_of_range"},
          {"/rate_limits/0/window_seconds", "required"},
          {"/rate_limits/0/x", "unknown_field"},
          {"/rate_limits/2/name", "invalid_format"},
          {"/rate_limits/3", "invalid_type"}}},
        {R"({"name":"n","metadata":{"a":1,"b":"ok"}})", {{"/metadata/a", "invalid_type"}}},
        {R"({"name":"n","id":1,"state":"active","last_used_at":null})",
         {{"/id", "read_only_field"},
          {"/state", "read_only_field"},
          {"/last_used_at", "read_only_field"}}},
    };
    for (auto const& row : rows) {
        auto const response = make(row.body);
        EXPECT_EQ(response.status, 422) << row.body;
        EXPECT_EQ(response.faults(), row.expected) << row.body;
    }
    EXPECT_EQ(make("{").code(), "invalid_json");
    EXPECT_EQ(make("[]").code(), "validation_failed");
}

TEST_F(keys, are_patched) {
    auto const id = make(R"({"name":"a","metadata":{"x":"1","y":"2"}})").id();
    auto const shown_key = service.request("GET " + path(id));
    // A shown record can be sent back unchanged.
    EXPECT_EQ(service.request("PATCH " + path(id), shown_key.body).body, shown_key.body);
    auto const response = service.request(
        "PATCH " + path(id), R"({"name":"b","metadata":{"x":null,"z":"3"},"expires_at":null,)"
                             R"("rate_limits":[]})");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.at("/name"), "\"b\"");
    EXPECT_EQ(response.at("/metadata"), R"({"y":"2","z":"3"})");
    EXPECT_EQ(response.at("/rate_limits"), "[]");
    auto const wrong = R"({"name":null,"project":"q","id":99,"key":"x"})";
    EXPECT_EQ(service.request("PATCH " + path(id), wrong).faults(),
              (faults{{"/name", "null_not_allowed"},
                      {"/project", "read_only_field"},
                      {"/id", "read_only_field"},
                      {"/key", "unknown_field"}}));
    EXPECT_EQ(service.request("PATCH " + path(999), "{}").status, 404);
    EXPECT_EQ(service.request("PATCH " + path(999), R"({"name":1})").status, 422);
    EXPECT_EQ(service.request("PATCH " + path(id), R"({"metadata":null})").at("/metadata"), "{}");
}

// Removed members do not count as kept ones.
TEST_F(keys, may_change_all_of_their_metadata_at_once) {
    auto const members = [](std::string_view prefix, int count, std::string_view value) {
        std::string text;
        for (int i = 0; i < count; ++i)
            text.append(i == 0 ? "\"" : ",\"")
                .append(prefix)
                .append(std::to_string(i))
                .append("\":")
                .append(value);
        return text;
    };
    auto const metadata = [](std::string const& members) {
        return R"({"metadata":{)" + members + "}}";
    };
    auto const response = make(R"({"name":"a","metadata":{)" + members("x", 50, "\"1\"") + "}}");
    EXPECT_EQ(response.status, 201);
    auto const line = "PATCH " + path(response.id());
    auto const removed = members("x", 50, "null"), fresh = members("y", 50, "\"2\"");
    EXPECT_EQ(service.request(line, metadata(fresh)).faults(), (faults{{"/metadata", "too_long"}}));
    auto const patched = service.request(line, metadata(removed + "," + fresh));
    EXPECT_EQ(patched.status, 200);
    EXPECT_EQ(patched.json().at("metadata").as_object().size(), 50u);
    EXPECT_EQ(patched.at("/metadata/y49"), "\"2\"");
    for (auto const& wrong : {members("x", 51, "null"), members("y", 51, "\"2\"")})
        EXPECT_EQ(service.request(line, metadata(wrong)).faults(),
                  (faults{{"/metadata", "too_long"}}));
}

// A bucket that takes longer than 126 years to fill would hold less than it says.
TEST_F(keys, refuse_a_burst_that_the_bucket_cannot_hold) {
    auto const body = [](std::string_view burst) {
        return R"({"name":"n","rate_limits":[{"name":"d","limit":1,"window_seconds":86400,"burst":)" +
               std::string(burst) + "}]}";
    };
    auto const refusal = make(body("46297"));
    EXPECT_EQ(refusal.status, 422);
    EXPECT_EQ(refusal.faults(), (faults{{"/rate_limits/0/burst", "out_of_range"}}));
    EXPECT_NE(refusal.body.find("at most 46296"), std::string::npos) << refusal.body;
    auto const created = make(body("46296"));
    ASSERT_EQ(created.status, 201) << created.body;
    EXPECT_EQ(created.at("/rate_limits/0/burst"), "46296");
    auto const change = service.request(
        "PATCH " + path(created.id()),
        R"({"rate_limits":[{"name":"d","limit":1,"window_seconds":86400,"burst":100000}]})");
    EXPECT_EQ(change.faults(), (faults{{"/rate_limits/0/burst", "out_of_range"}}));
}

TEST_F(keys, rotate_with_and_without_a_body) {
    auto const first = make(R"({"name":"a","scopes":["users:read"]})");
    auto const next = service.request("POST " + path(first.id(), "/rotate"));
    ASSERT_EQ(next.status, 201) << next.body;
    EXPECT_EQ(next.field("Location"), path(next.id()));
    EXPECT_EQ(next.at("/replaces"), std::to_string(first.id()));
    for (auto const& each : {text_of(first), text_of(next)})
        EXPECT_EQ(as(each, "GET /api/v1/users").status, 200);
    EXPECT_EQ(service.request("GET " + path(first.id())).at("/replaced_by"),
              std::to_string(next.id()));
    EXPECT_EQ(service.request("POST " + path(first.id(), "/rotate")).code(),
              "rotation_in_progress");
    service.advance(86'400'000 + 60'000);
    EXPECT_EQ(as(text_of(first), "GET /api/v1/users").code(), "key_deactivated");
    EXPECT_EQ(as(text_of(next), "GET /api/v1/users").status, 200);
    EXPECT_EQ(service.request("GET " + path(first.id())).at("/deactivation_reason"), "\"rotated\"");

    auto const last =
        service.request("POST " + path(next.id(), "/rotate"), R"({"overlap_seconds":0})");
    EXPECT_EQ(last.status, 201);
    EXPECT_EQ(as(text_of(next), "GET /api/v1/users").code(), "key_deactivated");
    EXPECT_EQ(service.request("POST " + path(next.id(), "/rotate")).code(), "key_not_active");
    auto const line = "POST " + path(last.id(), "/rotate");
    EXPECT_EQ(service.request(line, R"({"overlap_seconds":172801})").faults(),
              (faults{{"/overlap_seconds", "out_of_range"}}));
    EXPECT_EQ(service.request(line, R"({"overlap":1})").faults(),
              (faults{{"/overlap", "unknown_field"}}));
    EXPECT_EQ(service.request(line, "{}", {"Content-Type: text/plain"}).status, 415);
}

TEST_F(keys, are_deactivated_and_reactivated) {
    auto const response = make(R"({"name":"a"})");
    auto const deactivated = service.request("POST " + path(response.id(), "/deactivate"));
    EXPECT_EQ(deactivated.status, 200);
    EXPECT_EQ(deactivated.at("/state"), "\"deactivated\"");
    EXPECT_EQ(service.request("POST " + path(response.id(), "/deactivate")).status, 200);
    EXPECT_EQ(as(text_of(response), "GET /api/v1/users").code(), "key_deactivated");
    EXPECT_EQ(service.request("POST " + path(response.id(), "/reactivate")).at("/state"),
              "\"active\"");
    EXPECT_EQ(as(text_of(response), "GET /api/v1/users").status, 200);
    auto const deactivate = "POST " + path(response.id(), "/deactivate");
    auto const worse = service.request(deactivate, R"({"reason":"compromised"})");
    EXPECT_EQ(worse.at("/deactivation_reason"), "\"compromised\"");
    EXPECT_EQ(service.request("POST " + path(response.id(), "/reactivate")).code(),
              "key_not_reactivatable");
    EXPECT_EQ(service.request(deactivate, R"({"reason":"rotated"})").faults(),
              (faults{{"/reason", "not_in_enum"}}));
    auto const other = make(R"({"name":"b"})");
    EXPECT_EQ(service.request("DELETE " + path(other.id())).status, 204);
    EXPECT_EQ(service.request("DELETE " + path(other.id())).status, 204);
    EXPECT_EQ(service.request("GET " + path(other.id())).at("/state"), "\"deactivated\"");
    EXPECT_EQ(service.request("DELETE " + path(1)).code(), "last_admin_key");
    EXPECT_EQ(service.request("DELETE " + path(999)).status, 404);
}

TEST_F(keys, lose_a_scope_with_the_next_request) {
    auto const response = make(R"({"name":"a","scopes":["users:read","posts:read"]})");
    EXPECT_EQ(as(text_of(response), "GET /api/v1/posts").status, 200);
    EXPECT_EQ(
        service.request("PATCH " + path(response.id()), R"({"scopes":["users:read"]})").status,
        200);
    EXPECT_EQ(as(text_of(response), "GET /api/v1/posts").code(), "insufficient_scope");
}

TEST_F(keys, read_and_deactivate_themselves_without_a_scope) {
    auto const key = service.add_key({"usage:read"}, {.rate_limits = {{"minute", 10, 60, 0}}});
    auto const own = as(key, "GET /api/v1/keys/current");
    EXPECT_EQ(own.status, 200);
    EXPECT_EQ(own.id(), service.last_key());
    EXPECT_EQ(own.at("/rate_limits/0/remaining"), "9");
    EXPECT_EQ(own.at("/rate_limits/0/full_in_seconds"), "6");
    EXPECT_NE(own.at("/last_used_at"), "null");
    EXPECT_EQ(own.field("ETag"), "");
    EXPECT_EQ(as(key, "GET " + path(service.last_key())).code(), "insufficient_scope");
    EXPECT_EQ(as(key, "POST /api/v1/keys/current/deactivate").status, 200);
    EXPECT_EQ(as(key, "GET /api/v1/keys/current").code(), "key_deactivated");
}

TEST_F(keys, of_other_projects_are_not_found) {
    auto const other = service.add_key({"users:read"}, {.project = "other", .name = "named"});
    auto const theirs = service.last_key();
    auto const key = service.add_key({"keys:*", "users:read", "audit:read"},
                                     {.project = "mine", .name = "named"});
    auto const mine = service.last_key();
    for (auto const& [line, body] : std::initializer_list<std::pair<std::string, std::string>>{
             {"GET " + path(theirs), ""},
             {"PATCH " + path(theirs), R"({"name":"x"})"},
             {"DELETE " + path(theirs), ""},
             {"POST " + path(theirs, "/rotate"), ""},
             {"POST " + path(theirs, "/deactivate"), ""},
             {"POST " + path(theirs, "/reactivate"), ""}})
        EXPECT_EQ(as(key, line, body).code(), "not_found") << line;
    auto const list = as(key, "GET /api/v1/keys");
    EXPECT_EQ(list.at("/pagination/total"), "1");
    EXPECT_EQ(list.at("/data/0/id"), std::to_string(mine));
    EXPECT_EQ(as(key, "GET /api/v1/keys?project=other").at("/pagination/total"), "0");
    auto const named = as(key, "GET /api/v1/keys?search=named");
    EXPECT_EQ(named.at("/pagination/total"), "1");
    EXPECT_EQ(named.at("/data/0/id"), std::to_string(mine));
    EXPECT_EQ(as(key, "GET /api/v1/audit").at("/pagination/total"), "1");
    EXPECT_EQ(as(key, "GET /api/v1/audit?project=other").at("/pagination/total"), "0");
    auto const verification = R"({"key":")" + other + "\"}";
    EXPECT_EQ(as(key, "POST /api/v1/keys/verify", verification).at("/code"), "\"NOT_FOUND\"");
    auto const response = as(key, "POST /api/v1/keys", R"({"name":"n"})");
    EXPECT_EQ(response.at("/project"), "\"mine\"");
    EXPECT_EQ(as(key, "POST /api/v1/keys", R"({"name":"n","project":"other"})").code(),
              "insufficient_scope");
}

TEST_F(keys, are_listed_with_filters) {
    make(R"({"name":"a","environment":"production"})");
    make(R"({"name":"b","project":"p"})");
    auto const third = make(R"({"name":"c","project":"p"})");
    service.request("DELETE " + path(third.id()));
    auto const total = [&](std::string_view query) {
        auto const response = service.request("GET /api/v1/keys" + std::string(query));
        EXPECT_EQ(response.status, 200) << query << response.body;
        return response.at("/pagination/total");
    };
    EXPECT_EQ(total(""), "4");
    EXPECT_EQ(total("?project=p"), "2");
    EXPECT_EQ(total("?state=deactivated"), "1");
    EXPECT_EQ(total("?state=active&project=p"), "1");
    EXPECT_EQ(total("?environment=production"), "1");
    EXPECT_EQ(total("?start=" + text_of(third).substr(0, 8)), "1");
    EXPECT_EQ(total("?unused_since=2099-01-01T00:00:00Z"), "4");
    EXPECT_EQ(total("?search=B"), "1");
    EXPECT_EQ(total("?search=c&state=active"), "0");
    EXPECT_EQ(total("?search=c&project=p"), "1");
    EXPECT_EQ(total("?search=c&project=q"), "0");
    for (auto const* const query : {"?project=A", "?state=on", "?environment=x", "?start=abc",
                                    "?unused_since=monday", "?what=1", "?search="})
        EXPECT_EQ(service.request("GET /api/v1/keys" + std::string(query)).code(),
                  "invalid_parameter")
            << query;
    auto const page = service.request("GET /api/v1/keys?limit=1&project=p");
    EXPECT_NE(page.links()["next"].find("project=p"), std::string::npos);
}

TEST_F(keys, show_their_last_use) {
    auto const key = service.add_key({"users:read"});
    auto const id = service.last_key();
    EXPECT_EQ(service.request("GET " + path(id)).at("/last_used_at"), "null");
    as(key, "GET /api/v1/users");
    EXPECT_NE(service.request("GET " + path(id)).at("/last_used_at"), "null");
    std::vector<model::id> ids_in_use;
    for (auto const& each : service.uses().take(100)) ids_in_use.push_back(each.key);
    std::sort(ids_in_use.begin(), ids_in_use.end());
    EXPECT_EQ(ids_in_use, (std::vector<model::id>{1, id}));
    EXPECT_TRUE(service.uses().empty());
}

}  // namespace
}  // namespace latchkey::api
