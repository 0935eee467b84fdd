// Conditional requests (api.md §8, RFC 9110 §13), rule by rule.
#include <chrono>
#include <thread>

#include "../../harness.hpp"

namespace latchkey::api {
namespace {

using model::post_status;

class conditions : public api_test {
  protected:
    conditions() {
        service.add_user("Ada", "ada@example.com");
        service.add_post(1);
    }
    reply get(std::string const& target, lines fields = {}) {
        return service.request("GET /api/v1" + target, {}, std::move(fields));
    }
    std::string tag_of(std::string const& target) {
        auto const response = get(target);
        EXPECT_EQ(response.status, 200) << target;
        EXPECT_EQ(response.fields("ETag").size(), 1u) << target;
        return response.field("ETag");
    }
    reply patch(std::string const& target, std::string_view body, lines fields = {}) {
        return service.request("PATCH /api/v1" + target, body, std::move(fields));
    }
    void expect_failed(reply const& response) {
        EXPECT_EQ(response.status, 412);
        EXPECT_EQ(response.code(), "precondition_failed");
    }
};

TEST_F(conditions, resources_have_strong_tags) {
    for (std::string const target : {"/users/1", "/posts/1", "/keys/1"}) {
        auto const tag = tag_of(target);
        EXPECT_EQ(tag.size(), 21u) << target;
        EXPECT_TRUE(tag.starts_with('"') && tag.ends_with('"')) << tag;
        EXPECT_EQ(tag_of(target), tag) << "and keep them";
        EXPECT_EQ(service.request("HEAD /api/v1" + target).field("ETag"), tag);
    }
    EXPECT_EQ(service.request("GET /users/1").field("ETag"), tag_of("/users/1"));
    EXPECT_NE(tag_of("/users/1"), tag_of("/posts/1"));
}

TEST_F(conditions, some_responses_have_no_tag) {
    for (std::string const target : {"/users/1?include=posts", "/keys/current"})
        EXPECT_EQ(get(target).fields("ETag"), lines{}) << target;
    EXPECT_EQ(get("/users/77").fields("ETag"), lines{});
    EXPECT_EQ(service.request("POST /api/v1/keys/verify", R"({"key":"x"})").fields("ETag"),
              lines{});
    EXPECT_EQ(service.request("DELETE /api/v1/posts/1").fields("ETag"), lines{});
    service.add_key({"users:read"});
    auto const key = std::to_string(service.last_key());
    EXPECT_EQ(service.request("DELETE /api/v1/keys/" + key).fields("ETag"), lines{});
}

TEST_F(conditions, lists_have_weak_tags_that_change_with_them) {
    service.add_user();
    for (std::string const target : {"/users", "/posts", "/users/1/posts", "/keys", "/audit",
                                     "/users?email=ada@example.com"}) {
        auto const tag = tag_of(target);
        EXPECT_TRUE(tag.starts_with("W/\"") && tag.ends_with('"')) << tag;
        EXPECT_EQ(tag.size(), 15u);
        EXPECT_EQ(tag_of(target), tag) << target;
    }
    auto const users = tag_of("/users?limit=1"), posts = tag_of("/posts");
    EXPECT_NE(tag_of("/users?limit=2"), users);
    patch("/users/2", R"({"name":"Other"})");
    EXPECT_EQ(tag_of("/users?limit=1"), users) << "what is not shown does not count";
    service.add_user();
    EXPECT_NE(tag_of("/users?limit=1"), users) << "the total is shown";
    EXPECT_EQ(tag_of("/posts"), posts);
    patch("/posts/1", R"({"status":"archived"})");
    EXPECT_NE(tag_of("/posts"), posts);
}

// The last use of a key changes the tag of a list of keys, not that of the key.
TEST_F(conditions, last_use_changes_the_tag_of_the_list_but_not_of_the_key) {
    auto const one = tag_of("/keys/1"), all = tag_of("/keys");
    service.advance(1000);
    service.uses().note(1, service.now.wall);
    EXPECT_EQ(tag_of("/keys/1"), one);
    EXPECT_NE(get("/keys/1").at("/last_used_at"), "null");
    EXPECT_NE(tag_of("/keys"), all);
    EXPECT_EQ(get("/keys/1", {"If-None-Match: " + one}).status, 304);
}

TEST_F(conditions, tags_of_keys_change_with_their_settings_and_state) {
    service.add_key({"users:read"}, {.expires_at = service.now.wall + 5000});
    auto const path = "/keys/" + std::to_string(service.last_key());
    auto const first = tag_of(path);
    EXPECT_EQ(patch(path, R"({"metadata":{"a":"b"}})").status, 200);
    auto const second = tag_of(path);
    EXPECT_NE(second, first);
    service.advance(5000);
    EXPECT_EQ(get(path).at("/state"), R"("expired")");
    EXPECT_NE(tag_of(path), second) << "another state is shown";
    EXPECT_EQ(service.request("POST /api/v1" + path + "/deactivate").status, 200);
    EXPECT_EQ(get(path, {"If-None-Match: " + first + ", " + second}).status, 200);
}

TEST_F(conditions, a_current_representation_is_not_sent_again) {
    service.settings.base_url = "https://api.example.com";
    for (std::string const target : {"/users/1", "/posts/1", "/keys/1", "/users?limit=5", "/posts",
                                     "/users/1/posts", "/audit"})
        for (std::string const verb : {"GET", "HEAD"}) {
            auto const whole = get(target);
            auto const tag = whole.field("ETag");
            auto const response =
                service.request(verb + " /api/v1" + target, {}, {"If-None-Match: " + tag});
            EXPECT_EQ(response.status, 304) << target;
            EXPECT_EQ(response.body, "");
            EXPECT_EQ(response.fields("ETag"), lines{tag});
            for (auto const* const name : {"Cache-Control", "Vary"})
                EXPECT_EQ(response.fields(name), whole.fields(name)) << name;
            EXPECT_EQ(response.fields("Date").size(), 1u);
            for (auto const* const name : {"Content-Type", "Content-Length", "Transfer-Encoding"})
                EXPECT_EQ(response.fields(name), lines{}) << name;
        }
    service.key = service.add_key({"users:read"}, {});
    auto const limited = get("/users/1", {"If-None-Match: *"});
    EXPECT_EQ(limited.status, 304);
    EXPECT_EQ(limited.fields("RateLimit").size(), 1u);
    EXPECT_EQ(limited.fields("RateLimit-Policy").size(), 1u);
}

TEST_F(conditions, if_none_match_compares_weakly_over_lists_of_tags) {
    auto const tag = tag_of("/users/1");
    lines const hits[] = {
        {"If-None-Match: " + tag},
        {"If-None-Match: W/" + tag},
        {"If-None-Match: *"},
        {"If-None-Match: \"a\", " + tag},
        {"If-None-Match: \"a,b\" ,\t" + tag + " , \"c\""},
        {"If-None-Match: ,, " + tag + ",,"},
        {"If-None-Match: W/\"x\", W/" + tag},
        {"If-None-Match: \"a\"", "If-None-Match: " + tag},
        {"If-None-Match: \"\xc3\xa4\"," + tag},
        {"If-None-Match: \"\"," + tag},
        {"If-None-Match: nonsense, " + tag},
        {"if-none-match: " + tag},
    };
    for (auto const& fields : hits) EXPECT_EQ(get("/users/1", fields).status, 304) << fields[0];
    auto const bare = tag.substr(1, tag.size() - 2);
    lines const misses[] = {
        {"If-None-Match: \"a\""},
        {"If-None-Match:"},
        {"If-None-Match: " + bare},
        {"If-None-Match: w/" + tag},
        {"If-None-Match: \"" + bare},
        {"If-None-Match: " + bare + "\""},
        {"If-None-Match: '" + bare + "'"},
        {"If-None-Match: " + tag + "x"},
        {"If-None-Match: x" + tag},
        {"If-None-Match: \"a " + tag},
        {"If-None-Match: W / " + tag},
        {"If-None-Match: *, \"a\""},
        {"If-None-Match: *", "If-None-Match: \"a\""},
        {"If-None-Match: \"*\""},
        {"If-None-Match: **"},
        {"If-None-Match: " + tag_of("/posts/1")},
    };
    for (auto const& fields : misses) {
        auto const response = get("/users/1", fields);
        EXPECT_EQ(response.status, 200) << fields[0];
        EXPECT_FALSE(response.body.empty());
    }
}

TEST_F(conditions, lists_are_compared_too) {
    auto const tag = tag_of("/users");
    EXPECT_EQ(get("/users", {"If-None-Match: " + tag}).status, 304);
    EXPECT_EQ(get("/users", {"If-None-Match: " + tag.substr(2)}).status, 304) << "weakly the same";
    EXPECT_EQ(get("/users", {"If-None-Match: *"}).status, 304);
    expect_failed(get("/users", {"If-Match: " + tag}));
    EXPECT_EQ(get("/users", {"If-Match: *"}).status, 200);
    service.add_user();
    EXPECT_EQ(get("/users", {"If-None-Match: " + tag}).status, 200);
}

TEST_F(conditions, without_a_tag_only_an_asterisk_matches) {
    for (std::string const target : {"/users/1?include=posts", "/keys/current"}) {
        EXPECT_EQ(get(target, {"If-None-Match: \"a\""}).status, 200);
        EXPECT_EQ(get(target, {"If-None-Match: *"}).status, 304);
        expect_failed(get(target, {"If-Match: \"a\""}));
        EXPECT_EQ(get(target, {"If-Match: *"}).status, 200);
    }
}

TEST_F(conditions, if_match_on_reads) {
    auto const tag = tag_of("/users/1");
    EXPECT_EQ(get("/users/1", {"If-Match: " + tag}).status, 200);
    expect_failed(get("/users/1", {"If-Match: \"a\""}));
    expect_failed(get("/users/1", {"If-Match: W/" + tag}));
    // A list's tag is weak, so that it never matches If-Match, not even without `W/`.
    auto const weak = tag_of("/users");
    ASSERT_TRUE(weak.starts_with("W/"));
    expect_failed(get("/users", {"If-Match: " + weak}));
    expect_failed(get("/users", {"If-Match: " + weak.substr(2)}));
    // If-Match first (§13.2.2).
    expect_failed(get("/users/1", {"If-Match: \"a\"", "If-None-Match: " + tag}));
    EXPECT_EQ(get("/users/1", {"If-Match: " + tag, "If-None-Match: " + tag}).status, 304);
    EXPECT_EQ(get("/users/77", {"If-Match: *"}).status, 404);
    EXPECT_EQ(get("/users/77", {"If-None-Match: *"}).status, 404);
}

TEST_F(conditions, on_times_are_ignored) {
    EXPECT_EQ(get("/users/1").fields("Last-Modified"), lines{});
    EXPECT_EQ(get("/users/1", {"If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"}).status, 200);
    EXPECT_EQ(
        patch("/users/1", R"({"name":"B"})", {"If-Unmodified-Since: Mon, 01 Jan 2001 00:00:00 GMT"})
            .status,
        200);
}

TEST_F(conditions, a_write_applies_only_to_the_version_that_was_read) {
    struct {
        std::string target, change, replacement;
    } const rows[] = {
        {"/users/1", R"({"name":"New"})", R"({"name":"Newer","email":"ada@example.com"})"},
        {"/posts/1", R"({"title":"New"})",
         R"({"user_id":1,"title":"Newer","body":"","status":"draft"})"},
    };
    for (auto const& row : rows) {
        auto const old = tag_of(row.target);
        auto const update = patch(row.target, row.change, {"If-Match: " + old});
        EXPECT_EQ(update.status, 200);
        auto const now = update.field("ETag");
        EXPECT_NE(now, old);
        EXPECT_EQ(tag_of(row.target), now) << "the answer had the new tag";
        auto const put = [&](std::string const& field) {
            return service.request("PUT /api/v1" + row.target, row.replacement, {field});
        };
        expect_failed(patch(row.target, row.change, {"If-Match: " + old}));
        expect_failed(put("If-Match: " + old));
        expect_failed(put("If-Match: W/" + now));
        expect_failed(put("If-Match:"));
        expect_failed(put("If-Match: " + now.substr(1, 19)));
        expect_failed(service.request("DELETE /api/v1" + row.target, {}, {"If-Match: " + old}));
        EXPECT_EQ(tag_of(row.target), now) << "nothing was written";
        EXPECT_EQ(put("If-Match: \"a\", " + now).status, 200);
        EXPECT_EQ(put("If-Match: *").status, 200);
    }
    EXPECT_EQ(
        service.request("DELETE /api/v1/posts/1", {}, {"If-Match: " + tag_of("/posts/1")}).status,
        204);
    EXPECT_EQ(service.request("DELETE /api/v1/users/1", {}, {"If-Match: *"}).status, 204);
}

TEST_F(conditions, keys_are_written_the_same_way) {
    service.add_key({"users:read"});
    auto const path = "/keys/" + std::to_string(service.last_key());
    auto const tag = tag_of(path);
    expect_failed(patch(path, R"({"name":"x"})", {"If-Match: \"a\""}));
    for (std::string const action : {"/rotate", "/deactivate", "/reactivate"})
        expect_failed(service.request("POST /api/v1" + path + action, {}, {"If-Match: \"a\""}));
    expect_failed(service.request("DELETE /api/v1" + path, {}, {"If-Match: \"a\""}));
    EXPECT_EQ(tag_of(path), tag);
    auto const update = patch(path, R"({"name":"x"})", {"If-Match: " + tag});
    EXPECT_EQ(update.status, 200);
    EXPECT_EQ(tag_of(path), update.field("ETag"));
    auto const deactivated = service.request("POST /api/v1" + path + "/deactivate", {},
                                             {"If-Match: " + update.field("ETag")});
    EXPECT_EQ(deactivated.status, 200);
    EXPECT_EQ(tag_of(path), deactivated.field("ETag"));
    expect_failed(service.request("POST /api/v1" + path + "/reactivate", {},
                                  {"If-Match: " + update.field("ETag")}));
    EXPECT_EQ(service
                  .request("POST /api/v1" + path + "/reactivate", {},
                           {"If-Match: " + deactivated.field("ETag")})
                  .status,
              200);
}

TEST_F(conditions, if_none_match_on_writes) {
    auto const tag = tag_of("/users/1");
    for (auto const& value : {std::string("*"), tag, "W/" + tag, "\"a\", " + tag}) {
        expect_failed(patch("/users/1", R"({"name":"B"})", {"If-None-Match: " + value}));
        expect_failed(service.request("DELETE /api/v1/users/1", {}, {"If-None-Match: " + value}));
    }
    EXPECT_EQ(patch("/users/1", R"({"name":"B"})", {"If-None-Match: \"a\""}).status, 200);
}

// A new record has no tag yet; the list that it joins exists.
TEST_F(conditions, on_creation) {
    auto const make = [&](std::string const& field) {
        return service.request("POST /api/v1/users", R"({"name":"B","email":"b@example.com"})",
                               {field});
    };
    expect_failed(make("If-None-Match: *"));
    expect_failed(make("If-Match: \"a\""));
    auto const response = make("If-Match: *");
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.field("ETag"), tag_of("/users/2"));
    EXPECT_EQ(make("If-None-Match: \"a\"").code(), "email_taken");
    auto const post = service.request("POST /api/v1/posts", R"({"user_id":1,"title":"T"})");
    EXPECT_EQ(post.field("ETag"), tag_of("/posts/2"));
}

// A PUT may be answered with a tag only if its bytes were kept unchanged (RFC 9110 §9.3.4).
TEST_F(conditions, a_put_is_answered_without_a_tag) {
    auto const put =
        service.request("PUT /api/v1/users/1", R"({"name":"C","email":"ada@example.com"})");
    EXPECT_EQ(put.status, 200);
    EXPECT_EQ(put.fields("ETag"), lines{});
    EXPECT_EQ(patch("/users/1", R"({"name":"C"})").fields("ETag"), lines{tag_of("/users/1")});
}

TEST_F(conditions, come_after_body_and_existence_and_before_conflicts) {
    service.add_user("Bob", "bob@example.com");
    lines const stale{"If-Match: \"a\""};
    EXPECT_EQ(patch("/users/77", R"({"name":"B"})", stale).code(), "not_found");
    EXPECT_EQ(patch("/users/77", R"({"name":5})", stale).code(), "validation_failed");
    EXPECT_EQ(patch("/users/1", R"({"name":5})", stale).code(), "validation_failed");
    EXPECT_EQ(patch("/users/1", "{", stale).code(), "invalid_json");
    expect_failed(patch("/users/1", R"({"email":"bob@example.com"})", stale));
    EXPECT_EQ(patch("/users/1", R"({"email":"bob@example.com"})").code(), "email_taken");
    EXPECT_EQ(patch("/posts/1", R"({"status":"archived"})").status, 200);
    expect_failed(patch("/posts/1", R"({"status":"published"})", stale));
    expect_failed(patch("/users/1", "{}", stale));
}

// A client that sends a changed old copy back learns that the copy is old, not that a time differs;
// without the tag it learns the latter.
TEST_F(conditions, come_before_read_only_members_are_compared) {
    auto const original = get("/users/1");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the store has its own clock
    EXPECT_EQ(patch("/users/1", R"({"name":"Other"})").status, 200);
    EXPECT_NE(get("/users/1").at("/updated_at"), original.at("/updated_at"));
    expect_failed(service.request("PUT /api/v1/users/1", original.body,
                                  {"If-Match: " + original.field("ETag")}));
    EXPECT_EQ(service.request("PUT /api/v1/users/1", original.body).faults(),
              (std::map<std::string, std::string>{{"/updated_at", "read_only_field"}}));
}

TEST_F(conditions, can_be_required) {
    service.settings.require_if_match = true;
    service.add_key({"users:read"});
    auto const key = "/keys/" + std::to_string(service.last_key());
    auto const put = R"({"name":"C","email":"ada@example.com"})";
    for (auto const& response :
         {patch("/users/1", R"({"name":"B"})"), service.request("PUT /api/v1/users/1", put),
          service.request("DELETE /api/v1/users/1"), service.request("DELETE /api/v1/posts/1"),
          patch("/posts/1", R"({"title":"B"})"), patch(key, R"({"name":"B"})"),
          service.request("DELETE /api/v1" + key),
          patch("/users/1", R"({"name":"B"})", {"If-None-Match: \"a\""})}) {
        EXPECT_EQ(response.status, 428);
        EXPECT_EQ(response.code(), "precondition_required");
    }
    EXPECT_EQ(patch("/users/77", R"({"name":"B"})").code(), "not_found");
    EXPECT_EQ(patch("/users/1", R"({"name":5})").code(), "validation_failed");
    expect_failed(patch("/users/1", R"({"name":"B"})", {"If-Match: \"a\""}));
    EXPECT_EQ(patch("/users/1", R"({"name":"B"})", {"If-Match: " + tag_of("/users/1")}).status,
              200);
    EXPECT_EQ(service.request("PUT /api/v1/users/1", put, {"If-Match: *"}).status, 200);
    EXPECT_EQ(
        service.request("POST /api/v1/users", R"({"name":"B","email":"b@example.com"})").status,
        201);
    EXPECT_EQ(service.request("POST /api/v1" + key + "/deactivate").status, 200);
    EXPECT_EQ(service.request("PUT /api/v1/events/shop/secret", "{}").status, 201)
        << "it has no tag";
    EXPECT_EQ(service.request("DELETE /api/v1/events/shop/secret").status, 204);
    EXPECT_EQ(get("/users/1").status, 200);
}

// A change without effect is checked like any other.
TEST_F(conditions, apply_to_changes_without_effect) {
    auto const tag = tag_of("/users/1");
    expect_failed(patch("/users/1", R"({"name":"Ada"})", {"If-Match: \"a\""}));
    auto const response = patch("/users/1", R"({"name":"Ada"})", {"If-Match: " + tag});
    EXPECT_EQ(response.field("ETag"), tag);
}

}  // namespace
}  // namespace latchkey::api
