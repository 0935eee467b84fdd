// External events (api.md §12): who may send them, what is kept, signatures.
#include "../harness.hpp"
#include "../nasty_bodies.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view post_shop = "POST /api/v1/events/shop";

// Signs as the example of Standard Webhooks does, at the time of that example.
struct signed_events : api_test {
    static constexpr std::string_view secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    static constexpr std::string_view body = R"({"test": 2432232314})";
    std::string id = "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek";
    std::string time = "webhook-timestamp: 1614265330";
    std::string signature = "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    void SetUp() override {
        service.now.wall = service.now.clock = std::int64_t{1614265330} * 1000;
        EXPECT_EQ(put("shop", R"({"secret":")" + std::string(secret) + "\"}").status, 201);
    }
    reply put(std::string const& source, std::string const& document) {
        return service.request("PUT /api/v1/events/" + source + "/secret", document);
    }
    reply send(std::string_view payload = body) {
        return service.request(post_shop, payload, {id, time, signature});
    }
    void expect_refused(reply const& response, std::string_view detail) {
        EXPECT_EQ(response.status, 401);
        EXPECT_EQ(response.code(), "signature_invalid");
        EXPECT_NE(response.at("/detail").find(detail), std::string::npos) << response.body;
        EXPECT_EQ(response.field("WWW-Authenticate"), R"(Bearer realm="api")");
        EXPECT_FALSE(service.committed);
    }
};

TEST_F(api_test, an_event_is_kept_byte_for_byte) {
    std::string const payload = " {\"b\" : 1.50,\n\t\"a\":\"\\u00e9\xc3\xa9\"} ";
    auto const response = service.request(post_shop, payload, {"webhook-id: msg_1"});
    EXPECT_EQ(response.status, 202);
    EXPECT_EQ(response.body, "{\"id\":1}");
    EXPECT_EQ(response.field("Cache-Control"), "no-store");
    auto const event = service.request("GET /api/v1/events/1");
    EXPECT_EQ(event.status, 200);
    EXPECT_NE(event.body.find(",\"payload\":" + payload + "}"), std::string::npos) << event.body;
    EXPECT_EQ(event.at("/source"), "\"shop\"");
    EXPECT_EQ(event.at("/delivery_id"), "\"msg_1\"");
    EXPECT_EQ(event.at("/key_id"), std::to_string(service.last_key()));
    EXPECT_EQ(event.at("/verified"), "false");
    EXPECT_EQ(event.json().as_object().size(), 7u);
    EXPECT_EQ(service.request("GET /api/v1/events/2").code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/events/shop").code(), "not_found");
}

TEST_F(api_test, a_member_api_key_of_an_event_is_not_a_credential) {
    auto const payload = R"({"api_key":"theirs","a":1})";
    EXPECT_EQ(service.request(post_shop, payload).status, 202);
    EXPECT_EQ(service.request("GET /api/v1/events/1").at("/payload"), payload);
    auto const only = R"({"api_key":")" + service.key + "\"}";
    EXPECT_EQ(service.request_anonymous(post_shop, only).code(), "key_missing");
}

TEST_F(api_test, events_need_a_source_a_type_and_an_object) {
    for (std::string const source : {"Shop", "1", "42", "shop_1", "-shop", "shop%31", "sh.op",
                                     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
        EXPECT_EQ(service.request("POST /api/v1/events/" + source, "{}").status, 404) << source;
    EXPECT_EQ(service.request("POST /api/v1/events/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "{}").status,
              202);
    EXPECT_EQ(service.request("POST /api/v1/events/", "{}").code(), "route_not_found");
    EXPECT_EQ(service.request("POST /api/v1/events", "{}").code(), "method_not_allowed");
    EXPECT_EQ(service.request("PUT /api/v1/events/shop", "{}").field("Allow"),
              "GET, HEAD, POST, OPTIONS");
    EXPECT_EQ(service.request(post_shop, "[]").code(), "validation_failed");
    EXPECT_EQ(service.request(post_shop).code(), "invalid_json");
    for (auto const* const wrong : {"{", "{\"a\":1,\"a\":1}", "{} {}", "{\"a\":\"\xff\"}"})
        EXPECT_EQ(service.request(post_shop, wrong).code(), "invalid_json") << wrong;
    EXPECT_EQ(service
                  .request(post_shop, "payload=%7B%7D",
                           {"Content-Type: application/x-www-form-urlencoded"})
                  .status,
              415);
    EXPECT_EQ(service.request("POST /api/v1/events/shop?a=1", "{}").code(), "invalid_parameter");
}

TEST_F(api_test, an_event_has_256_kib_at_most) {
    auto const of_size = [](std::size_t size) {
        return "{\"a\":\"" + std::string(size - 8, 'x') + "\"}";
    };
    EXPECT_EQ(service.request(post_shop, of_size(256 * 1024)).status, 202);
    EXPECT_EQ(service.request(post_shop, of_size(256 * 1024 + 1)).code(), "body_too_large");
    EXPECT_EQ(service
                  .send(in_chunks("POST /api/v1/events/shop", {bearer(service.key)},
                                  of_size(256 * 1024 + 1)))
                  .code(),
              "body_too_large");
    EXPECT_EQ(service.request("GET /api/v1/events/1").body.size() > 256 * 1024, true);
    service.settings.body_bytes_max = 1024;
    EXPECT_EQ(service.request(post_shop, of_size(1025)).code(), "body_too_large");
}

TEST_F(api_test, the_scope_of_a_source_is_enough_for_that_source_only) {
    auto const shop = bearer(service.add_key({"events:write:shop"}));
    EXPECT_EQ(service.request_anonymous(post_shop, "{}", {shop}).status, 202);
    auto const other = service.request_anonymous("POST /api/v1/events/till", "{}", {shop});
    EXPECT_EQ(other.code(), "insufficient_scope");
    EXPECT_NE(other.field("WWW-Authenticate").find(R"(scope="events:write")"), std::string::npos);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/events", {}, {shop}).status, 403);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/events/1", {}, {shop}).status, 403);
    EXPECT_EQ(service.request_anonymous("PUT /api/v1/events/shop/secret", "{}", {shop}).status,
              403);
    auto const all = bearer(service.add_key({"events:write"}));
    EXPECT_EQ(service.request_anonymous("POST /api/v1/events/till", "{}", {all}).status, 202);
    auto const reader = bearer(service.add_key({"events:read"}));
    EXPECT_EQ(service.request_anonymous("GET /api/v1/events", {}, {reader}).status, 200);
    EXPECT_EQ(service.request_anonymous(post_shop, "{}", {reader}).status, 403);
}

TEST_F(api_test, a_key_with_source_scopes_only_may_always_come_by_query) {
    service.settings.allow_query = false;
    auto const line = [](std::string const& key, std::string const& path) {
        return "POST /api/v1/events/" + path + "?api_key=" + key;
    };
    auto const shop = service.add_key({"events:write:shop", "events:write:till"});
    EXPECT_EQ(service.request_anonymous(line(shop, "shop"), "{}").status, 202);
    EXPECT_EQ(service.request_anonymous(line(shop, "till"), "{}").status, 202);
    EXPECT_EQ(service.request_anonymous(line(shop, "else"), "{}").code(), "insufficient_scope");
    for (auto const& scopes : {std::vector<std::string_view>{"events:write"},
                               {"*"},
                               {"events:write:shop", "users:read"}}) {
        auto const wide = service.add_key(scopes);
        auto const response = service.request_anonymous(line(wide, "shop"), "{}");
        EXPECT_EQ(response.code(), "key_missing");
        EXPECT_EQ(response.at("/detail"),
                  "\"Keys in the query are not read here. Send the key as Authorization: Bearer "
                  "KEY.\"");
        EXPECT_EQ(service.request_anonymous(post_shop, "{}", {bearer(wide)}).status, 202);
    }
    EXPECT_EQ(service.request_anonymous(line(auth::unknown_key(), "shop"), "{}").code(),
              "key_invalid");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/events?api_key=" + shop).code(),
              "key_missing");
    EXPECT_EQ(service.request_anonymous("POST /api/v1/users?api_key=" + shop, "{}").code(),
              "key_missing");
    service.settings.allow_query = true;
    EXPECT_EQ(service.request_anonymous(line(service.key, "shop"), "{}").status, 202);
}

TEST_F(api_test, events_are_listed_by_source) {
    for (int i = 0; i < 3; ++i) {
        service.request(post_shop, R"({"n":1})");
        service.request("POST /api/v1/events/till", R"({"n":2})");
    }
    auto const all = service.request("GET /api/v1/events?limit=4");
    EXPECT_EQ(all.at("/pagination/total"), "6");
    EXPECT_EQ(all.json().at("data").as_array().size(), 4u);
    auto const shop = service.request("GET /api/v1/events?source=shop&sort=-id&limit=2");
    EXPECT_EQ(shop.at("/data/0/id"), "5");
    EXPECT_EQ(shop.at("/data/1/id"), "3");
    EXPECT_EQ(shop.at("/pagination/total"), "3");
    EXPECT_NE(shop.links()["next"].find("source=shop"), std::string::npos);
    EXPECT_EQ(service.request("GET /api/v1/events?source=none").at("/pagination/total"), "0");
    EXPECT_EQ(service.request("GET /api/v1/events?source=No").code(), "invalid_parameter");
    EXPECT_EQ(service.request("GET /api/v1/events?key_id=1").code(), "invalid_parameter");
}

TEST_F(api_test, an_unsigned_delivery_is_known_by_its_id) {
    auto const id = [&](lines const& fields, std::string_view body = "{}") {
        return service.request(post_shop, body, fields).id();
    };
    EXPECT_EQ(id({"webhook-id: a"}), 1);
    EXPECT_EQ(id({"Webhook-Id: a"}, "{\"b\":1}"), 1);
    EXPECT_EQ(id({"X-GitHub-Delivery: b"}), 2);
    EXPECT_EQ(id({"X-GitHub-Delivery: b"}), 2);
    EXPECT_EQ(id({"Stripe-Signature: t=1"}, R"({"id":"evt_1"})"), 3);
    EXPECT_EQ(id({"Stripe-Signature: t=2"}, R"({"id":"evt_1"})"), 3);
    EXPECT_EQ(id({}, R"({"id":"evt_1"})"), 4) << "no field says that this is Stripe's";
    EXPECT_EQ(id({}, R"({"id":"evt_1"})"), 5);
    EXPECT_EQ(id({"webhook-id: a", "webhook-id: a"}), 6) << "said twice it says nothing";
    EXPECT_EQ(service.request("GET /api/v1/events/3").at("/delivery_id"), "\"evt_1\"");
    EXPECT_EQ(service.request("GET /api/v1/events/4").at("/delivery_id"), "null");
}

TEST_F(signed_events, are_verified_and_kept_once) {
    auto const first = send();
    EXPECT_EQ(first.status, 202) << first.body;
    auto const again = send();
    EXPECT_EQ(again.status, 202);
    EXPECT_EQ(again.body, first.body);
    auto const event = service.request("GET /api/v1/events/1");
    EXPECT_EQ(event.at("/verified"), "true");
    EXPECT_EQ(event.at("/delivery_id"), "\"msg_p5jXN8AQM9LWM0D4loKWxJek\"");
    EXPECT_EQ(service.request("GET /api/v1/events").at("/pagination/total"), "1");
}

TEST_F(signed_events, with_an_invalid_signature_are_refused_before_other_checks) {
    expect_refused(service.request(post_shop, body), "there once");
    expect_refused(service.request(post_shop, body, {id, time}), "there once");
    expect_refused(service.request(post_shop, body, {id, time, signature, signature}),
                   "there once");
    expect_refused(send(R"({"test":2432232314})"), "does not fit");
    expect_refused(send(body.substr(0, body.size() - 1)), "does not fit");
    expect_refused(send("not JSON"), "does not fit");
    EXPECT_EQ(send().status, 202);
    // A repeat needs its signature too.
    expect_refused(send("{}"), "does not fit");
    service.advance(301'000);
    expect_refused(send(), "300 seconds in the past");
    service.advance(-602'000);
    expect_refused(send(), "300 seconds in the future");
    service.advance(301'000);
    EXPECT_EQ(send().id(), 1);
    signature = "webhook-signature: v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    expect_refused(send(), "version v1");
    signature = "webhook-signature:";
    expect_refused(send(), "version v1");
    time = "webhook-timestamp: soon";
    expect_refused(send(), "number of seconds");
    id = "webhook-id: m\xc3\xa9";
    expect_refused(send(), "visible ASCII");
}

TEST_F(signed_events, follow_their_secret_through_a_rotation) {
    EXPECT_EQ(put("shop", R"({"overlap_seconds":60})").status, 201);
    EXPECT_EQ(send().status, 202) << "the one before still signs";
    auto const secret = service.request("GET /api/v1/events/shop/secret");
    EXPECT_NE(secret.at("/rotation_ends_at"), "null");
    EXPECT_EQ(put("shop", "{}").status, 201);
    expect_refused(send(), "does not fit");
    EXPECT_EQ(service.request("DELETE /api/v1/events/shop/secret").status, 204);
    EXPECT_EQ(service.request("DELETE /api/v1/events/shop/secret").code(), "not_found");
    auto const first = send();
    EXPECT_EQ(first.status, 202);
    EXPECT_EQ(first.id(), 2) << "an unverified delivery is another one";
    EXPECT_EQ(service.request("GET /api/v1/events/2").at("/verified"), "false");
}

TEST_F(api_test, github_is_known_by_its_delivery_or_an_equal_signature) {
    service.request("PUT /api/v1/events/hub/secret",
                    R"({"format":"github","secret":"It's a Secret to Everybody"})");
    auto const post = [&](lines fields, std::string_view body) {
        return service.request("POST /api/v1/events/hub", body, std::move(fields));
    };
    // openssl dgst -sha256 -hmac "It's a Secret to Everybody"
    EXPECT_EQ(post({"X-Hub-Signature-256: sha256=" + std::string(64, '0')}, "{}").code(),
              "signature_invalid");
    EXPECT_EQ(post({"X-Hub-Signature: sha1=0"}, "{}").code(), "signature_invalid");
    auto const good = std::string("X-Hub-Signature-256: sha256=") +
                      "50b0123e6e44430d2c43ecca0ee520d961ffd326425c07859f70a57161c3ebcd";
    EXPECT_EQ(post({good, "X-GitHub-Delivery: a"}, "{}").id(), 1);
    EXPECT_EQ(post({good, "X-GitHub-Delivery: a"}, "{}").id(), 1);
    EXPECT_EQ(post({good, "X-GitHub-Delivery: b"}, "{}").id(), 1) << "an equal signature";
    EXPECT_EQ(post({good}, "{}").id(), 1);
    EXPECT_EQ(post({good, "X-GitHub-Delivery: a", "X-GitHub-Delivery: a"}, "{}").status, 401);
    auto const other = std::string("X-Hub-Signature-256: sha256=") +
                       "3c77e8e7f87744ca870cf37ba75921f2672fcd699c53a4a45e99a881df55d846";
    EXPECT_EQ(post({other, "X-GitHub-Delivery: a"}, "[]").code(), "validation_failed");
    EXPECT_EQ(service.request("GET /api/v1/events/1").at("/delivery_id"), "\"a\"");
}

TEST_F(api_test, stripe_is_known_by_the_id_in_its_payload) {
    service.request("PUT /api/v1/events/pay/secret",
                    R"({"format":"stripe","secret":"whsec_test_secret"})");
    service.now.wall = service.now.clock = std::int64_t{1700000000} * 1000;
    auto const post = [&](std::string const& digits, std::string_view body) {
        return service.request("POST /api/v1/events/pay", body,
                               {"Stripe-Signature: t=1700000000,v1=" + digits + ",v0=abc"});
    };
    // openssl dgst -sha256 -hmac whsec_test_secret, of the time, a full stop and the body
    std::string const one = "a5096bb243117eae845c91e89993a05ffc1f37a3ae2f9c96d4bcbaa6041fcc29";
    std::string const two = "e4a5af6b3e99895536db2cfc883034181707270e46bf1a7a1e655c1c7fd2fcc8";
    std::string const none = "ceb8863f7208fa249a6cd8f951e993c7563412aca65866f6272283debe143ab3";
    EXPECT_EQ(post(one, R"({"id":"evt_1","n":1})").id(), 1);
    EXPECT_EQ(post(two, R"({"id":"evt_1","n":2})").id(), 1);
    EXPECT_EQ(post(two, R"({"id":"evt_1","n":1})").code(), "signature_invalid");
    EXPECT_EQ(post(none, "{}").id(), 2);
    EXPECT_EQ(post(none, "{}").id(), 2) << "without an id the signature counts";
    EXPECT_EQ(service.request("GET /api/v1/events/1").at("/delivery_id"), "\"evt_1\"");
    EXPECT_EQ(service.request("GET /api/v1/events/2").at("/delivery_id"), "null");
}

TEST_F(api_test, sources_of_events_are_those_with_a_secret_or_events) {
    EXPECT_EQ(service.request("GET /api/v1/events/sources").body,
              R"({"data":[],"has_more":false})");
    for (auto const* const source : {"b", "b-2", "b", "c"})
        service.request(std::string("POST /api/v1/events/") + source, R"({"id":1})");
    service.request("PUT /api/v1/events/a/secret");
    service.request("PUT /api/v1/events/b/secret", R"({"format":"github"})");
    auto const all = service.request("GET /api/v1/events/sources");
    EXPECT_EQ(all.status, 200);
    std::string sources;
    for (auto const* const i : {"0", "1", "2", "3"}) {
        auto const entry = "/data/" + std::string(i);
        sources += all.at(entry + "/source") + all.at(entry + "/events") + ' ';
    }
    EXPECT_EQ(sources, R"("a"0 "b"2 "b-2"1 "c"1 )");
    EXPECT_EQ(all.at("/has_more"), "false");
    EXPECT_EQ(all.at("/data/0/secret/format"), "\"standard\"");
    EXPECT_EQ(all.at("/data/1/secret/format"), "\"github\"");
    EXPECT_EQ(all.at("/data/2/secret"), "null");
    EXPECT_EQ(all.body.find("whsec_"), std::string::npos);
    auto const page = service.request("GET /api/v1/events/sources?after=a&limit=2");
    EXPECT_EQ(page.at("/data/0/source"), "\"b\"");
    EXPECT_EQ(page.at("/data/1/source"), "\"b-2\"");
    EXPECT_EQ(page.at("/has_more"), "true");
    auto const last = service.request("GET /api/v1/events/sources?after=b-2&limit=1");
    EXPECT_EQ(last.at("/data/0/source"), "\"c\"");
    EXPECT_EQ(last.at("/has_more"), "false");
}

TEST_F(api_test, sources_of_events_are_for_those_who_manage_them) {
    auto const reader = service.add_key({"events:read"});
    EXPECT_EQ(service.request_anonymous("GET /api/v1/events/sources", {}, {bearer(reader)}).code(),
              "insufficient_scope");
    for (auto const* const query : {"after=A", "limit=0", "limit=x", "source=a"})
        EXPECT_EQ(service.request(std::string("GET /api/v1/events/sources?") + query).code(),
                  "invalid_parameter")
            << query;
}

TEST_F(api_test, a_generated_secret_is_shown_once) {
    auto const response = service.request("PUT /api/v1/events/shop/secret");
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.field("Cache-Control"), "no-store");
    EXPECT_EQ(response.at("/source"), "\"shop\"");
    EXPECT_EQ(response.at("/format"), "\"standard\"");
    EXPECT_EQ(response.json().as_object().size(), 3u);
    EXPECT_EQ(response.field("Location"), "/api/v1/events/shop/secret");
    auto const secret = response.at("/secret");
    EXPECT_EQ(secret.size(), 52u);
    EXPECT_TRUE(secret.starts_with("\"whsec_"));
    auto const shown_secret = service.request("GET /api/v1/events/shop/secret");
    EXPECT_EQ(shown_secret.status, 200);
    EXPECT_EQ(shown_secret.at("/format"), "\"standard\"");
    EXPECT_EQ(shown_secret.at("/rotation_ends_at"), "null");
    EXPECT_EQ(shown_secret.body.find("whsec_"), std::string::npos);
    EXPECT_EQ(service.request("GET /api/v1/events/till/secret").code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/events/Shop/secret").code(), "not_found");
    EXPECT_EQ(service.request("PUT /api/v1/events/Shop/secret").code(), "not_found");
    EXPECT_EQ(service.request("DELETE /api/v1/events/Shop/secret").code(), "not_found");
    auto const audit = service.request("GET /api/v1/audit?sort=-id&limit=1");
    EXPECT_EQ(audit.at("/data/0/action"), "\"secret.put\"");
    EXPECT_EQ(audit.at("/data/0/source"), "\"shop\"");
    EXPECT_EQ(audit.at("/data/0/address"), "\"203.0.113.7\"");
    EXPECT_EQ(audit.body.find("whsec_"), std::string::npos);
}

// Sources belong to no project, so their readers see the changes by keys of other projects.
TEST_F(api_test, a_change_of_a_secret_is_visible_to_readers_of_events) {
    auto const as = [&](std::string const& key, std::string const& line) {
        return service.request_anonymous(line, {}, {bearer(key)});
    };
    auto const manager = service.add_key({"events:manage"}, {.project = "theirs"});
    auto const actor = std::to_string(service.last_key());
    EXPECT_EQ(as(manager, "PUT /api/v1/events/shop/secret").status, 201);
    auto const reader = service.add_key({"audit:read", "events:read"}, {.project = "mine"});
    auto const own = std::to_string(service.last_key());
    EXPECT_EQ(as(manager, "DELETE /api/v1/events/shop/secret").status, 204);

    auto const log = as(reader, "GET /api/v1/audit");
    ASSERT_EQ(log.at("/pagination/total"), "3") << log.body;
    EXPECT_EQ(log.at("/data/0/action"), "\"secret.put\"");
    EXPECT_EQ(log.at("/data/0/actor_key_id"), actor);
    EXPECT_EQ(log.at("/data/0/project"), "null");
    EXPECT_EQ(log.at("/data/1/key_id"), own);
    EXPECT_EQ(log.at("/data/2/action"), "\"secret.delete\"");
    for (auto const* scopes : {"events:*", "*:read", "events:manage"}) {
        auto const other = service.add_key({"audit:read", scopes}, {.project = std::string("p")});
        EXPECT_NE(as(other, "GET /api/v1/audit").body.find("secret.put"), std::string::npos);
    }
    auto const narrow = service.add_key({"audit:read", "events:write", "keys:*"}, {.project = "x"});
    auto const keys_alone = as(narrow, "GET /api/v1/audit");
    EXPECT_EQ(keys_alone.at("/pagination/total"), "1");
    EXPECT_EQ(keys_alone.body.find("secret."), std::string::npos);
    EXPECT_EQ(as(reader, "GET /api/v1/audit?project=mine").at("/pagination/total"), "1");
    EXPECT_EQ(as(reader, "GET /api/v1/audit?project=theirs").at("/pagination/total"), "0");
}

TEST_F(api_test, the_log_of_a_project_and_of_sources_is_one_list_in_pages) {
    auto const reader = service.add_key({"audit:read", "events:read"}, {.project = "mine"});
    for (int i = 0; i < 7; ++i) {
        service.request("PUT /api/v1/events/shop/secret");
        if (i % 3 == 0) service.add_key({"users:read"}, {.project = "mine"});
        service.add_key({"users:read"}, {.project = "theirs"});
    }
    auto const get = [&](std::string const& query) {
        return service.request_anonymous("GET /api/v1/audit?" + query, {}, {bearer(reader)});
    };
    auto const whole = get("limit=100");
    auto const ids = [](reply const& answer) {
        std::vector<std::int64_t> list;
        auto const document = answer.json();
        for (auto const& entry : document.at("data").as_array())
            list.push_back(entry.at("id").as_int64());
        return list;
    };
    auto const all = ids(whole);
    ASSERT_EQ(all.size(), 11u);
    EXPECT_TRUE(std::ranges::is_sorted(all));
    for (bool const back : {false, true}) {
        auto expected = all;
        if (back) std::ranges::reverse(expected);
        std::string const sort = back ? "&sort=-id" : "";
        std::vector<std::int64_t> by_page, by_cursor;
        for (int page = 1; page <= 4; ++page) {
            auto const some = ids(get("limit=3&page=" + std::to_string(page) + sort));
            by_page.insert(by_page.end(), some.begin(), some.end());
        }
        EXPECT_EQ(by_page, expected);
        for (std::string cursor; cursor != "null";) {
            auto const some = get("limit=3" + sort + (cursor.empty() ? "" : "&cursor=" + cursor));
            ASSERT_EQ(some.status, 200) << some.body;
            auto const list = ids(some);
            by_cursor.insert(by_cursor.end(), list.begin(), list.end());
            cursor = some.at("/pagination/next_cursor");
            if (cursor != "null") cursor = cursor.substr(1, cursor.size() - 2);
        }
        EXPECT_EQ(by_cursor, expected);
    }
    // A cursor of the longer list is not valid for the shorter one.
    auto const next = get("limit=3").at("/pagination/next_cursor");
    auto const lesser = service.add_key({"audit:read"}, {.project = "mine"});
    EXPECT_EQ(service
                  .request_anonymous("GET /api/v1/audit?cursor=" + next.substr(1, next.size() - 2),
                                     {}, {bearer(lesser)})
                  .code(),
              "invalid_cursor");
}

TEST_F(api_test, a_supplied_secret_is_not_echoed_and_not_kept_in_memory) {
    std::string const text = "an old secret of ours";
    auto const response = service.request("PUT /api/v1/events/shop/secret",
                                          R"({"format":"github","secret":")" + text + "\"}");
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.at("/secret"), "null");
    EXPECT_EQ(service.buffer.find(text), std::string::npos);
    auto const wrong =
        service.request("PUT /api/v1/events/shop/secret",
                        R"({"format":"svix","secret":"short","overlap_seconds":172801,"x":1})");
    EXPECT_EQ(wrong.faults(),
              (std::map<std::string, std::string>{{"/format", "not_in_enum"},
                                                  {"/secret", "invalid_format"},
                                                  {"/overlap_seconds", "out_of_range"},
                                                  {"/x", "unknown_field"}}));
    EXPECT_EQ(wrong.body.find("short"), std::string::npos);
    EXPECT_EQ(service.request("PUT /api/v1/events/shop/secret", R"({"secret":null})").status, 422);
    EXPECT_EQ(service.request("GET /api/v1/events/shop/secret").at("/format"), "\"github\"");
}

TEST_F(api_test, an_event_may_have_any_number_of_members) {
    std::vector<std::string> names;
    for (int i = 0; i < 20'000; ++i) names.push_back("m" + std::to_string(i));
    auto const payload = object_of(names);
    EXPECT_EQ(service.request(post_shop, payload).status, 202);
    EXPECT_EQ(service.request("GET /api/v1/events/1").body.find(payload) == std::string::npos,
              false);
    auto const begin = payload.substr(0, payload.size() - 1);
    EXPECT_EQ(service.request(post_shop, begin + R"(,"\u006d0":1})").code(), "invalid_json");
    EXPECT_EQ(service.request(post_shop, begin + R"(,"id":1,"id":1})").code(), "invalid_json");
    EXPECT_EQ(service.request(post_shop, R"({"a":{"b":[{"c":1,"d":{"c":1},"c":2}]}})").code(),
              "invalid_json");
}

}  // namespace
}  // namespace latchkey::api
