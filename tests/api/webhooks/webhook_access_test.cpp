// Who may do what with webhooks (api.md §17), and what holds for them as for other records: scopes,
// projects, preconditions, repeats, lists, the audit log.
#include "auth/webhook_signature.hpp"
#include "webhook_fixture.hpp"

namespace latchkey::api {
namespace {

using webhook_access = webhooks_test;

TEST_F(webhook_access, keep_their_outcomes_without_their_secrets) {
    lines const key{"Idempotency-Key: one"};
    auto const creation = make(simple, key);
    ASSERT_EQ(creation.status, 201);
    auto const again = make(simple, key);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.field("Idempotency-Replayed"), "true");
    EXPECT_EQ(again.field("Location"), creation.field("Location"));
    EXPECT_EQ(again.field("ETag"), creation.field("ETag"));
    EXPECT_EQ(again.at("/secret"), "null");
    auto expected = creation.json().as_object();
    expected["secret"] = nullptr;
    EXPECT_EQ(again.json(), boost::json::value(expected));
    EXPECT_EQ(service.request("GET /api/v1/webhooks").at("/pagination/total"), "1");
    EXPECT_EQ(make(R"({"url":"https://x.example.com/"})", key).code(), "idempotency_key_reused");

    lines const other{"Idempotency-Key: two"};
    auto const id = creation.id();
    auto const rotated = post(id, "/rotate-secret", {}, other);
    auto const repeated = post(id, "/rotate-secret", {}, other);
    EXPECT_EQ(repeated.at("/secret"), "null");
    EXPECT_EQ(repeated.at("/secret_rotation_ends_at"), rotated.at("/secret_rotation_ends_at"));
    EXPECT_EQ('"' + std::string(auth::secret_text(signing(id).secrets[0].hmac).text()) + '"',
              rotated.at("/secret"));
    struct {
        std::string_view action, body;
    } const rows[] = {{"/test", ""}, {"/replay", R"({"sequences":[1]})"}, {"/enable", ""}};
    for (auto const& row : rows) {
        lines const third{"Idempotency-Key: " + std::string(row.action.substr(1))};
        auto const first = post(id, row.action, row.body, third);
        EXPECT_LT(first.status, 300) << first.body;
        auto const second = post(id, row.action, row.body, third);
        EXPECT_EQ(second.field("Idempotency-Replayed"), "true");
        EXPECT_EQ(second.status, first.status);
        EXPECT_EQ(second.body, first.body);
    }
}

TEST_F(webhook_access, have_preconditions) {
    auto const creation = make();
    auto const id = creation.id();
    auto const tag = creation.field("ETag");
    lines const match{"If-Match: " + tag}, none_match{"If-None-Match: " + tag};
    EXPECT_EQ(service.request("GET " + path(id), {}, none_match).status, 304);
    EXPECT_EQ(patch(id, R"({"ordered":true})", match).status, 200);
    EXPECT_EQ(patch(id, R"({"ordered":false})", match).code(), "precondition_failed");
    for (auto const* const action : {"/enable", "/test", "/rotate-secret", "/replay"})
        EXPECT_EQ(post(id, action,
                       action == std::string_view("/replay") ? R"({"sequences":[1]})" : "", match)
                      .code(),
                  "precondition_failed")
            << action;
    EXPECT_EQ(service.request("DELETE " + path(id), {}, match).code(), "precondition_failed");
    EXPECT_EQ(make(simple, {"If-Match: \"x\""}).code(), "precondition_failed");
    service.settings.require_if_match = true;
    EXPECT_EQ(patch(id, "{}").code(), "precondition_required");
    EXPECT_EQ(service.request("DELETE " + path(id)).code(), "precondition_required");
    EXPECT_EQ(post(id, "/test").status, 202);
    EXPECT_EQ(
        service.request("DELETE " + path(id), {}, {"If-Match: " + get(id).field("ETag")}).status,
        204);
}

TEST_F(webhook_access, need_scopes) {
    auto const id = make().id();
    last_change();
    struct {
        std::string line, body;
        std::vector<std::string_view> scopes;  // each of which is needed
    } const rows[] = {
        {"GET /api/v1/webhooks", "", {"webhooks:read"}},
        {"GET " + path(id), "", {"webhooks:read"}},
        {"GET " + path(id, "/deliveries"), "", {"webhooks:read"}},
        {"POST /api/v1/webhooks", std::string(simple), {"webhooks:write", "changes:read"}},
        {"PATCH " + path(id), "{}", {"webhooks:write", "changes:read"}},
        {"POST " + path(id, "/enable"), "", {"webhooks:write", "changes:read"}},
        {"POST " + path(id, "/rotate-secret"), "", {"webhooks:write"}},
        {"POST " + path(id, "/test"), "", {"webhooks:write"}},
        {"POST " + path(id, "/replay"), R"({"sequences":[1]})", {"webhooks:write"}},
        {"DELETE " + path(id), "", {"webhooks:write"}},
    };
    for (auto const& row : rows) {
        for (auto const missing : row.scopes) {
            std::vector<std::string_view> scopes{"webhooks:read", "webhooks:write", "changes:read",
                                                 "keys:*"};
            std::erase(scopes, missing);
            auto const refusal = as(service.add_key(scopes), row.line, "{");
            EXPECT_EQ(refusal.code(), "insufficient_scope") << row.line;
            EXPECT_TRUE(has(refusal.field("WWW-Authenticate"), missing)) << row.line;
        }
        auto const key = service.add_key(row.scopes);
        auto const answer = as(key, row.line, row.body);
        // The webhook belongs to no project: only a key with `*` sees it.
        if (has(row.line, path(id)))
            EXPECT_EQ(answer.code(), "not_found") << row.line;
        else
            EXPECT_LT(answer.status, 300) << answer.body;
    }
}

TEST_F(webhook_access, of_other_projects_are_not_found) {
    auto const scopes = {std::string_view("webhooks:*"), std::string_view("changes:read")};
    auto const mine = service.add_key(scopes, {.project = "mine", .rate_limits = {}});
    auto const theirs = service.add_key(scopes, {.project = "theirs", .rate_limits = {}});
    auto const creation = as(mine, "POST /api/v1/webhooks", simple);
    ASSERT_EQ(creation.status, 201) << creation.body;
    EXPECT_EQ(creation.at("/project"), "\"mine\"");
    auto const id = creation.id();
    auto const of_all = make().id();
    for (auto const each : {id, of_all})
        for (auto const& [line, body] : std::initializer_list<std::pair<std::string, std::string>>{
                 {"GET " + path(each), ""},
                 {"GET " + path(each, "/deliveries"), ""},
                 {"PATCH " + path(each), R"({"ordered":true})"},
                 {"DELETE " + path(each), ""},
                 {"POST " + path(each, "/rotate-secret"), ""},
                 {"POST " + path(each, "/enable"), ""},
                 {"POST " + path(each, "/test"), ""},
                 {"POST " + path(each, "/replay"), R"({"from_sequence":1})"}})
            EXPECT_EQ(as(theirs, line, body).code(), "not_found") << line;
    EXPECT_EQ(as(theirs, "GET /api/v1/webhooks").at("/pagination/total"), "0");
    auto const list = as(mine, "GET /api/v1/webhooks");
    EXPECT_EQ(list.at("/pagination/total"), "1");
    EXPECT_EQ(list.at("/data/0/id"), std::to_string(id));
    EXPECT_EQ(service.request("GET /api/v1/webhooks").at("/pagination/total"), "2");
    EXPECT_EQ(service.request("POST " + path(id, "/test")).status, 202);
    EXPECT_EQ(as(mine, "POST " + path(id, "/test")).status, 202);
    EXPECT_EQ(as(mine, "DELETE " + path(id)).status, 204);
}

TEST_F(webhook_access, are_listed_by_page_and_by_cursor) {
    for (int i = 0; i < 5; ++i) make();
    auto const page = service.request("GET /api/v1/webhooks?limit=2&sort=-id");
    expect_shape(page.json(), "WebhookList");
    EXPECT_EQ(page.at("/data/0/id"), "5");
    EXPECT_EQ(page.at("/pagination/total"), "5");
    auto const cursor = page.json().at_pointer("/pagination/next_cursor").as_string();
    auto const next =
        service.request("GET /api/v1/webhooks?limit=2&sort=-id&cursor=" + std::string(cursor));
    EXPECT_EQ(next.at("/data/0/id"), "3");
    EXPECT_EQ(service.request("GET /api/v1/webhooks?project=x").code(), "invalid_parameter");
    // A cursor is bound to the visible project.
    auto const key = service.add_key({"webhooks:read"});
    EXPECT_EQ(as(key, "GET /api/v1/webhooks?limit=2&sort=-id&cursor=" + std::string(cursor)).code(),
              "invalid_cursor");
}

TEST_F(webhook_access, are_in_the_audit_log) {
    auto const id = make(R"({"url":"https://hooks.example.com/","headers":{"X":"s3cret"}})").id();
    patch(id, R"({"headers":{"X":"s4cret"},"ordered":true})");
    post(id, "/rotate-secret");
    disable(id);
    service.request("DELETE " + path(id));
    auto const log = service.request("GET /api/v1/audit?sort=-id&limit=5");
    EXPECT_FALSE(has(log.body, "3cret") || has(log.body, "4cret"));
    std::vector<std::string> actions;
    auto const entries = log.json().at("data");
    for (auto const& each : entries.as_array()) {
        expect_shape(each, "AuditEntry");
        actions.emplace_back(each.at("action").as_string());
        EXPECT_EQ(each.at("webhook_id"), boost::json::value(id));
        EXPECT_TRUE(each.at("source").is_null());
        EXPECT_TRUE(each.at("project").is_null());
        EXPECT_TRUE(each.at("key_id").is_null());
    }
    EXPECT_EQ(actions,
              (std::vector<std::string>{"webhook.delete", "webhook.change", "webhook.rotate",
                                        "webhook.change", "webhook.create"}));
    EXPECT_EQ(log.at("/data/3/fields"), R"(["ordered","headers"])");
    auto const key = service.add_key({"audit:read", "events:read"});
    EXPECT_FALSE(has(as(key, "GET /api/v1/audit").body, "webhook.")) << "of no project";
}

// Whoever has a key that was compromised may have had changes sent anywhere.
TEST_F(webhook_access, are_disabled_when_their_key_is_compromised) {
    auto const key = service.add_key({"*"});
    auto const key_id = service.last_key();
    auto const own =
        as(key, "POST /api/v1/webhooks", R"({"url":"https://hooks.example.com/"})").id();
    auto const other = make().id();
    auto const second = as(key, "POST /api/v1/keys", R"({"name":"second"})").id();
    auto const third = as(key, "POST /api/v1/keys", R"({"name":"third"})").id();
    service.request("POST /api/v1/keys/" + std::to_string(third) + "/deactivate");
    auto const deactivate = "POST /api/v1/keys/" + std::to_string(key_id) + "/deactivate";
    auto const manual = service.request(deactivate);
    expect_shape(manual.json(), "Key");
    EXPECT_EQ(get(own).at("/enabled"), "true") << "it may only have been replaced";
    EXPECT_FALSE(has(manual.body, "\"created\""));
    for (int i = 0; i < 2; ++i) {
        auto const answer = service.request(deactivate, R"({"reason":"compromised"})");
        expect_shape(answer.json(), "DeactivatedKey");
        EXPECT_EQ(answer.at("/created"), "{\"keys\":[" + std::to_string(second) +
                                             "],\"webhooks\":[" + std::to_string(own) +
                                             "],\"is_complete\":true}");
        EXPECT_EQ(get(own).at("/disabled_reason"), "\"revoked\"");
    }
    expect_shape(get(own).json(), "Webhook");
    EXPECT_EQ(get(other).at("/enabled"), "true");
    auto const feed = service.request("GET /api/v1/changes?type=webhook.disabled");
    EXPECT_EQ(feed.json().at("data").as_array().size(), 1u) << "told once";
    EXPECT_EQ(feed.at("/data/0/data/disabled_reason"), "\"revoked\"");
    EXPECT_EQ(service.request("GET /api/v1/audit?sort=-id&limit=1").at("/data/0/action"),
              "\"webhook.change\"");
    EXPECT_EQ(post(own, "/enable").at("/enabled"), "true") << "its operator may know better";
}

// Under an Idempotency-Key a repeat is told the same.
TEST_F(webhook_access, of_a_compromised_key_are_named_again) {
    auto const key = service.add_key({"*"});
    auto const deactivate =
        "POST /api/v1/keys/" + std::to_string(service.last_key()) + "/deactivate";
    as(key, "POST /api/v1/webhooks", R"({"url":"https://hooks.example.com/"})");
    as(key, "POST /api/v1/keys", R"({"name":"second"})");
    auto const ask = [&] {
        return service.request(deactivate, R"({"reason":"compromised"})", {"Idempotency-Key: x1"});
    };
    auto const first = ask();
    EXPECT_NE(first.at("/created/keys"), "[]");
    EXPECT_EQ(ask().body, first.body);
}

// Two parties: a key gets another one while more are left than it has.
TEST_F(webhook_access, of_one_key_leave_room_to_others) {
    auto const half = domain::webhooks_max / 2;
    for (std::size_t i = 0; i < half; ++i) ASSERT_EQ(make().status, 201);
    auto const refusal = make();
    EXPECT_EQ(refusal.code(), "storage_full");
    EXPECT_TRUE(has(refusal.at("/detail"), "This key has 500 webhooks"));
    auto const other = service.add_key({"*"});
    auto const make_other = [&] {
        return as(other, "POST /api/v1/webhooks", R"({"url":"https://hooks.example.com/"})").status;
    };
    for (std::size_t i = 0; i < half / 2; ++i) ASSERT_EQ(make_other(), 201);
    EXPECT_EQ(make_other(), 507);
    service.request("DELETE " + path(1));
    EXPECT_EQ(make_other(), 201);
}

}  // namespace
}  // namespace latchkey::api
