// Keys over HTTP (API §4): bodies and their faults, what each route does, who sees what. The rules
// of who may give what are tried one by one in tests/store/key_life_test.cpp.
#include <algorithm>

#include "harness.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;

class keys : public api_test {
  protected:
    static std::string path(model::id id, std::string_view action = {}) {
        return "/api/v1/keys/" + std::to_string(id) + std::string(action);
    }
    reply make(std::string_view body) { return at.ask("POST /api/v1/keys", body); }
    // Asks as the caller of a key.
    reply as(std::string const& key, std::string_view line, std::string_view body = {}) {
        return at.ask_bare(line, body, {bearer(key)});
    }
    std::string text_of(reply const& made) {
        auto const quoted = made.at("/key");
        return quoted.size() == 50 ? quoted.substr(1, 48) : "";
    }
};

TEST_F(keys, are_made_and_shown_once) {
    auto const made =
        make(R"({"name":"ci","environment":"staging","scopes":["posts:*","users:read"],)"
             R"("expires_in":3600,"ip_allowlist":["203.0.113.0/24"],"metadata":{"team":"a"},)"
             R"("rate_limits":[{"name":"s","limit":5,"window_seconds":1,"burst":9}]})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.field("Location"), path(made.id()));
    EXPECT_EQ(made.field("Cache-Control"), "no-store");
    auto const key = text_of(made);
    ASSERT_TRUE(auth::has_key_form(key));
    EXPECT_EQ(made.at("/start"), '"' + key.substr(0, 8) + '"');
    EXPECT_EQ(made.at("/last4"), '"' + key.substr(44) + '"');
    EXPECT_EQ(made.at("/created_by"), "1");
    EXPECT_EQ(made.at("/state"), "\"active\"");
    EXPECT_EQ(made.at("/rate_limits/0/burst"), "9");
    auto const seen = at.ask("GET " + path(made.id()));
    EXPECT_EQ(seen.status, 200);
    EXPECT_EQ(seen.body.find(key), std::string::npos);
    EXPECT_EQ(seen.at("/name"), "\"ci\"");
    EXPECT_EQ(as(key, "GET /api/v1/posts").status, 200);
}

TEST_F(keys, have_defaults) {
    auto const made = make(R"({"name":"n"})");
    EXPECT_EQ(made.at("/scopes"), R"(["users:read","posts:read"])");
    EXPECT_EQ(made.at("/project"), "\"default\"");
    EXPECT_EQ(made.at("/expires_at"), "null");
    EXPECT_EQ(made.at("/rate_limits/1/limit"), "20000");
    at.rules.key_ttl_seconds = 60;
    EXPECT_NE(make(R"({"name":"n"})").at("/expires_at"), "null");
    EXPECT_EQ(make(R"({"name":"n","expires_at":null})").at("/expires_at"), "null");
    at.rules.key_ttl_seconds = 0;
    // Of the two only what the caller holds, and none is a fault.
    auto const some = at.add_key({"keys:write", "posts:read"}, {});
    auto const given = as(some, "POST /api/v1/keys", R"({"name":"n"})");
    EXPECT_EQ(given.at("/scopes"), R"(["posts:read"])") << given.body;
    auto const none = as(at.add_key({"keys:write"}, {}), "POST /api/v1/keys", R"({"name":"n"})");
    EXPECT_EQ(none.faults(), (faults{{"/scopes", "required"}}));
}

TEST_F(keys, bodies_tell_all_their_faults) {
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
        auto const made = make(row.body);
        EXPECT_EQ(made.status, 422) << row.body;
        EXPECT_EQ(made.faults(), row.expected) << row.body;
    }
    EXPECT_EQ(make("{").code(), "invalid_json");
    EXPECT_EQ(make("[]").code(), "validation_failed");
}

TEST_F(keys, are_patched) {
    auto const id = make(R"({"name":"a","metadata":{"x":"1","y":"2"}})").id();
    auto const shown = at.ask("GET " + path(id));
    // What was shown can be sent back as it is.
    EXPECT_EQ(at.ask("PATCH " + path(id), shown.body).body, shown.body);
    auto const made = at.ask("PATCH " + path(id),
                             R"({"name":"b","metadata":{"x":null,"z":"3"},"expires_at":null,)"
                             R"("rate_limits":[]})");
    EXPECT_EQ(made.status, 200);
    EXPECT_EQ(made.at("/name"), "\"b\"");
    EXPECT_EQ(made.at("/metadata"), R"({"y":"2","z":"3"})");
    EXPECT_EQ(made.at("/rate_limits"), "[]");
    auto const wrong = R"({"name":null,"project":"q","id":99,"key":"x"})";
    EXPECT_EQ(at.ask("PATCH " + path(id), wrong).faults(), (faults{{"/name", "null_not_allowed"},
                                                                   {"/project", "read_only_field"},
                                                                   {"/id", "read_only_field"},
                                                                   {"/key", "unknown_field"}}));
    EXPECT_EQ(at.ask("PATCH " + path(999), "{}").status, 404);
    EXPECT_EQ(at.ask("PATCH " + path(999), R"({"name":1})").status, 422);
    EXPECT_EQ(at.ask("PATCH " + path(id), R"({"metadata":null})").at("/metadata"), "{}");
}

TEST_F(keys, rotate_with_and_without_a_body) {
    auto const first = make(R"({"name":"a","scopes":["users:read"]})");
    auto const next = at.ask("POST " + path(first.id(), "/rotate"));
    ASSERT_EQ(next.status, 201) << next.body;
    EXPECT_EQ(next.field("Location"), path(next.id()));
    EXPECT_EQ(next.at("/replaces"), std::to_string(first.id()));
    for (auto const& each : {text_of(first), text_of(next)})
        EXPECT_EQ(as(each, "GET /api/v1/users").status, 200);
    EXPECT_EQ(at.ask("GET " + path(first.id())).at("/replaced_by"), std::to_string(next.id()));
    EXPECT_EQ(at.ask("POST " + path(first.id(), "/rotate")).code(), "rotation_in_progress");
    at.advance(86'400'000 + 60'000);
    EXPECT_EQ(as(text_of(first), "GET /api/v1/users").code(), "key_deactivated");
    EXPECT_EQ(as(text_of(next), "GET /api/v1/users").status, 200);
    EXPECT_EQ(at.ask("GET " + path(first.id())).at("/deactivation_reason"), "\"rotated\"");

    auto const last = at.ask("POST " + path(next.id(), "/rotate"), R"({"overlap_seconds":0})");
    EXPECT_EQ(last.status, 201);
    EXPECT_EQ(as(text_of(next), "GET /api/v1/users").code(), "key_deactivated");
    EXPECT_EQ(at.ask("POST " + path(next.id(), "/rotate")).code(), "key_not_active");
    auto const line = "POST " + path(last.id(), "/rotate");
    EXPECT_EQ(at.ask(line, R"({"overlap_seconds":172801})").faults(),
              (faults{{"/overlap_seconds", "out_of_range"}}));
    EXPECT_EQ(at.ask(line, R"({"overlap":1})").faults(), (faults{{"/overlap", "unknown_field"}}));
    EXPECT_EQ(at.ask(line, "{}", {"Content-Type: text/plain"}).status, 415);
}

TEST_F(keys, are_turned_off_and_on) {
    auto const made = make(R"({"name":"a"})");
    auto const off = at.ask("POST " + path(made.id(), "/deactivate"));
    EXPECT_EQ(off.status, 200);
    EXPECT_EQ(off.at("/state"), "\"deactivated\"");
    EXPECT_EQ(at.ask("POST " + path(made.id(), "/deactivate")).status, 200);
    EXPECT_EQ(as(text_of(made), "GET /api/v1/users").code(), "key_deactivated");
    EXPECT_EQ(at.ask("POST " + path(made.id(), "/reactivate")).at("/state"), "\"active\"");
    EXPECT_EQ(as(text_of(made), "GET /api/v1/users").status, 200);
    auto const deactivate = "POST " + path(made.id(), "/deactivate");
    auto const worse = at.ask(deactivate, R"({"reason":"compromised"})");
    EXPECT_EQ(worse.at("/deactivation_reason"), "\"compromised\"");
    EXPECT_EQ(at.ask("POST " + path(made.id(), "/reactivate")).code(), "key_not_reactivatable");
    EXPECT_EQ(at.ask(deactivate, R"({"reason":"rotated"})").faults(),
              (faults{{"/reason", "not_in_enum"}}));
    auto const other = make(R"({"name":"b"})");
    EXPECT_EQ(at.ask("DELETE " + path(other.id())).status, 204);
    EXPECT_EQ(at.ask("DELETE " + path(other.id())).status, 204);
    EXPECT_EQ(at.ask("GET " + path(other.id())).at("/state"), "\"deactivated\"");
    EXPECT_EQ(at.ask("DELETE " + path(1)).code(), "last_admin_key");
    EXPECT_EQ(at.ask("DELETE " + path(999)).status, 404);
}

TEST_F(keys, lose_a_scope_with_the_next_request) {
    auto const made = make(R"({"name":"a","scopes":["users:read","posts:read"]})");
    EXPECT_EQ(as(text_of(made), "GET /api/v1/posts").status, 200);
    EXPECT_EQ(at.ask("PATCH " + path(made.id()), R"({"scopes":["users:read"]})").status, 200);
    EXPECT_EQ(as(text_of(made), "GET /api/v1/posts").code(), "insufficient_scope");
}

TEST_F(keys, see_themselves_and_end_themselves_without_a_scope) {
    auto const key = at.add_key({"usage:read"}, {.rate_limits = {{"minute", 10, 60, 0}}});
    auto const own = as(key, "GET /api/v1/keys/current");
    EXPECT_EQ(own.status, 200);
    EXPECT_EQ(own.id(), at.last_key());
    EXPECT_EQ(own.at("/rate_limits/0/remaining"), "9");
    EXPECT_EQ(own.at("/rate_limits/0/full_in_seconds"), "6");
    EXPECT_NE(own.at("/last_used_at"), "null");
    EXPECT_EQ(own.field("ETag"), "");
    EXPECT_EQ(as(key, "GET " + path(at.last_key())).code(), "insufficient_scope");
    EXPECT_EQ(as(key, "POST /api/v1/keys/current/deactivate").status, 200);
    EXPECT_EQ(as(key, "GET /api/v1/keys/current").code(), "key_deactivated");
}

TEST_F(keys, of_other_projects_are_not_there) {
    auto const other = at.add_key({"users:read"}, {.project = "other"});
    auto const theirs = at.last_key();
    auto const key = at.add_key({"keys:*", "users:read", "audit:read"}, {.project = "mine"});
    auto const mine = at.last_key();
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
    EXPECT_EQ(as(key, "GET /api/v1/audit").at("/pagination/total"), "1");
    EXPECT_EQ(as(key, "GET /api/v1/audit?project=other").at("/pagination/total"), "0");
    auto const asked = R"({"key":")" + other + "\"}";
    EXPECT_EQ(as(key, "POST /api/v1/keys/verify", asked).at("/code"), "\"NOT_FOUND\"");
    auto const made = as(key, "POST /api/v1/keys", R"({"name":"n"})");
    EXPECT_EQ(made.at("/project"), "\"mine\"");
    EXPECT_EQ(as(key, "POST /api/v1/keys", R"({"name":"n","project":"other"})").code(),
              "insufficient_scope");
}

TEST_F(keys, are_listed_with_filters) {
    make(R"({"name":"a","environment":"production"})");
    make(R"({"name":"b","project":"p"})");
    auto const third = make(R"({"name":"c","project":"p"})");
    at.ask("DELETE " + path(third.id()));
    auto const total = [&](std::string_view query) {
        auto const made = at.ask("GET /api/v1/keys" + std::string(query));
        EXPECT_EQ(made.status, 200) << query << made.body;
        return made.at("/pagination/total");
    };
    EXPECT_EQ(total(""), "4");
    EXPECT_EQ(total("?project=p"), "2");
    EXPECT_EQ(total("?state=deactivated"), "1");
    EXPECT_EQ(total("?state=active&project=p"), "1");
    EXPECT_EQ(total("?environment=production"), "1");
    EXPECT_EQ(total("?start=" + text_of(third).substr(0, 8)), "1");
    EXPECT_EQ(total("?unused_since=2099-01-01T00:00:00Z"), "4");
    for (auto const* const query : {"?project=A", "?state=on", "?environment=x", "?start=abc",
                                    "?unused_since=monday", "?what=1"})
        EXPECT_EQ(at.ask("GET /api/v1/keys" + std::string(query)).code(), "invalid_parameter")
            << query;
    auto const page = at.ask("GET /api/v1/keys?limit=1&project=p");
    EXPECT_NE(page.links()["next"].find("project=p"), std::string::npos);
}

TEST_F(keys, remember_when_they_were_used) {
    auto const key = at.add_key({"users:read"});
    auto const id = at.last_key();
    EXPECT_EQ(at.ask("GET " + path(id)).at("/last_used_at"), "null");
    as(key, "GET /api/v1/users");
    EXPECT_NE(at.ask("GET " + path(id)).at("/last_used_at"), "null");
    std::vector<model::id> used;
    for (auto const& each : at.uses().take(100)) used.push_back(each.key);
    std::sort(used.begin(), used.end());
    EXPECT_EQ(used, (std::vector<model::id>{1, id}));
    EXPECT_TRUE(at.uses().empty());
}

}  // namespace
}  // namespace latchkey::api
