// Events from outside (API §12) through the whole gate: who may send, what is kept, signatures.
#include "harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view post_shop = "POST /api/v1/events/shop";

// Signs as the example of Standard Webhooks does, whose time the station is set to.
struct signed_events : api_test {
    static constexpr std::string_view secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    static constexpr std::string_view body = R"({"test": 2432232314})";
    std::string id = "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek";
    std::string time = "webhook-timestamp: 1614265330";
    std::string signature = "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    void SetUp() override {
        at.now.wall = std::int64_t{1614265330} * 1000;
        EXPECT_EQ(put("shop", R"({"secret":")" + std::string(secret) + "\"}").status, 201);
    }
    reply put(std::string const& source, std::string const& with) {
        return at.ask("PUT /api/v1/events/" + source + "/secret", with);
    }
    reply send(std::string_view payload = body) {
        return at.ask(post_shop, payload, {id, time, signature});
    }
    void expect_refused(reply const& made, std::string_view detail) {
        EXPECT_EQ(made.status, 401);
        EXPECT_EQ(made.code(), "signature_invalid");
        EXPECT_NE(made.at("/detail").find(detail), std::string::npos) << made.body;
        EXPECT_EQ(made.field("WWW-Authenticate"), R"(Bearer realm="api")");
        EXPECT_FALSE(at.committed);
    }
};

TEST_F(api_test, an_event_is_kept_as_it_came) {
    std::string const payload = " {\"b\" : 1.50,\n\t\"a\":\"\\u00e9\xc3\xa9\"} ";
    auto const made = at.ask(post_shop, payload, {"webhook-id: msg_1"});
    EXPECT_EQ(made.status, 202);
    EXPECT_EQ(made.body, "{\"id\":1}");
    EXPECT_EQ(made.field("Cache-Control"), "no-store");
    auto const got = at.ask("GET /api/v1/events/1");
    EXPECT_EQ(got.status, 200);
    EXPECT_NE(got.body.find(",\"payload\":" + payload + "}"), std::string::npos) << got.body;
    EXPECT_EQ(got.at("/source"), "\"shop\"");
    EXPECT_EQ(got.at("/delivery_id"), "\"msg_1\"");
    EXPECT_EQ(got.at("/key_id"), std::to_string(at.last_key()));
    EXPECT_EQ(got.at("/verified"), "false");
    EXPECT_EQ(got.json().as_object().size(), 7u);
    EXPECT_EQ(at.ask("GET /api/v1/events/2").code(), "not_found");
    EXPECT_EQ(at.ask("GET /api/v1/events/shop").code(), "not_found");
}

TEST_F(api_test, a_member_api_key_of_an_event_is_its_senders) {
    auto const payload = R"({"api_key":"theirs","a":1})";
    EXPECT_EQ(at.ask(post_shop, payload).status, 202);
    EXPECT_EQ(at.ask("GET /api/v1/events/1").at("/payload"), payload);
    auto const only = R"({"api_key":")" + at.key + "\"}";
    EXPECT_EQ(at.ask_bare(post_shop, only).code(), "key_missing");
}

TEST_F(api_test, events_need_a_source_a_type_and_an_object) {
    for (std::string const source : {"Shop", "1", "42", "shop_1", "-shop", "shop%31", "sh.op",
                                     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
        EXPECT_EQ(at.ask("POST /api/v1/events/" + source, "{}").status, 404) << source;
    EXPECT_EQ(at.ask("POST /api/v1/events/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "{}").status, 202);
    EXPECT_EQ(at.ask("POST /api/v1/events/", "{}").code(), "route_not_found");
    EXPECT_EQ(at.ask("POST /api/v1/events", "{}").code(), "method_not_allowed");
    EXPECT_EQ(at.ask("PUT /api/v1/events/shop", "{}").field("Allow"), "GET, HEAD, POST, OPTIONS");
    EXPECT_EQ(at.ask(post_shop, "[]").code(), "validation_failed");
    EXPECT_EQ(at.ask(post_shop).code(), "invalid_json");
    for (auto const* const wrong : {"{", "{\"a\":1,\"a\":1}", "{} {}", "{\"a\":\"\xff\"}"})
        EXPECT_EQ(at.ask(post_shop, wrong).code(), "invalid_json") << wrong;
    EXPECT_EQ(
        at.ask(post_shop, "payload=%7B%7D", {"Content-Type: application/x-www-form-urlencoded"})
            .status,
        415);
    EXPECT_EQ(at.ask("POST /api/v1/events/shop?a=1", "{}").code(), "invalid_parameter");
}

TEST_F(api_test, an_event_has_256_kib_at_most) {
    auto const of_size = [](std::size_t size) {
        return "{\"a\":\"" + std::string(size - 8, 'x') + "\"}";
    };
    EXPECT_EQ(at.ask(post_shop, of_size(256 * 1024)).status, 202);
    EXPECT_EQ(at.ask(post_shop, of_size(256 * 1024 + 1)).code(), "body_too_large");
    EXPECT_EQ(
        at.send(in_chunks("POST /api/v1/events/shop", {bearer(at.key)}, of_size(256 * 1024 + 1)))
            .code(),
        "body_too_large");
    EXPECT_EQ(at.ask("GET /api/v1/events/1").body.size() > 256 * 1024, true);
    at.rules.body_bytes_max = 1024;
    EXPECT_EQ(at.ask(post_shop, of_size(1025)).code(), "body_too_large");
}

TEST_F(api_test, the_scope_of_a_source_is_enough_for_it_alone) {
    auto const shop = bearer(at.add_key({"events:write:shop"}));
    EXPECT_EQ(at.ask_bare(post_shop, "{}", {shop}).status, 202);
    auto const other = at.ask_bare("POST /api/v1/events/till", "{}", {shop});
    EXPECT_EQ(other.code(), "insufficient_scope");
    EXPECT_NE(other.field("WWW-Authenticate").find(R"(scope="events:write")"), std::string::npos);
    EXPECT_EQ(at.ask_bare("GET /api/v1/events", {}, {shop}).status, 403);
    EXPECT_EQ(at.ask_bare("GET /api/v1/events/1", {}, {shop}).status, 403);
    EXPECT_EQ(at.ask_bare("PUT /api/v1/events/shop/secret", "{}", {shop}).status, 403);
    auto const all = bearer(at.add_key({"events:write"}));
    EXPECT_EQ(at.ask_bare("POST /api/v1/events/till", "{}", {all}).status, 202);
    auto const reader = bearer(at.add_key({"events:read"}));
    EXPECT_EQ(at.ask_bare("GET /api/v1/events", {}, {reader}).status, 200);
    EXPECT_EQ(at.ask_bare(post_shop, "{}", {reader}).status, 403);
}

TEST_F(api_test, a_key_of_sources_alone_may_always_come_by_query) {
    at.rules.allow_query = false;
    auto const line = [](std::string const& key, std::string const& path) {
        return "POST /api/v1/events/" + path + "?api_key=" + key;
    };
    auto const shop = at.add_key({"events:write:shop", "events:write:till"});
    EXPECT_EQ(at.ask_bare(line(shop, "shop"), "{}").status, 202);
    EXPECT_EQ(at.ask_bare(line(shop, "till"), "{}").status, 202);
    EXPECT_EQ(at.ask_bare(line(shop, "else"), "{}").code(), "insufficient_scope");
    for (auto const& scopes : {std::vector<std::string_view>{"events:write"},
                               {"*"},
                               {"events:write:shop", "users:read"}}) {
        auto const wide = at.add_key(scopes);
        EXPECT_EQ(at.ask_bare(line(wide, "shop"), "{}").code(), "key_missing");
        EXPECT_EQ(at.ask_bare(post_shop, "{}", {bearer(wide)}).status, 202);
    }
    EXPECT_EQ(at.ask_bare(line(auth::unknown_key(), "shop"), "{}").code(), "key_invalid");
    EXPECT_EQ(at.ask_bare("GET /api/v1/events?api_key=" + shop).code(), "key_missing");
    EXPECT_EQ(at.ask_bare("POST /api/v1/users?api_key=" + shop, "{}").code(), "key_missing");
    at.rules.allow_query = true;
    EXPECT_EQ(at.ask_bare(line(at.key, "shop"), "{}").status, 202);
}

TEST_F(api_test, events_are_listed_by_source) {
    for (int i = 0; i < 3; ++i) {
        at.ask(post_shop, R"({"n":1})");
        at.ask("POST /api/v1/events/till", R"({"n":2})");
    }
    auto const all = at.ask("GET /api/v1/events?limit=4");
    EXPECT_EQ(all.at("/pagination/total"), "6");
    EXPECT_EQ(all.json().at("data").as_array().size(), 4u);
    auto const shop = at.ask("GET /api/v1/events?source=shop&sort=-id&limit=2");
    EXPECT_EQ(shop.at("/data/0/id"), "5");
    EXPECT_EQ(shop.at("/data/1/id"), "3");
    EXPECT_EQ(shop.at("/pagination/total"), "3");
    EXPECT_NE(shop.links()["next"].find("source=shop"), std::string::npos);
    EXPECT_EQ(at.ask("GET /api/v1/events?source=none").at("/pagination/total"), "0");
    EXPECT_EQ(at.ask("GET /api/v1/events?source=No").code(), "invalid_parameter");
    EXPECT_EQ(at.ask("GET /api/v1/events?key_id=1").code(), "invalid_parameter");
}

TEST_F(api_test, an_unsigned_delivery_is_known_by_its_id) {
    auto const id = [&](lines const& fields, std::string_view body = "{}") {
        return at.ask(post_shop, body, fields).id();
    };
    EXPECT_EQ(id({"webhook-id: a"}), 1);
    EXPECT_EQ(id({"Webhook-Id: a"}, "{\"b\":1}"), 1);
    EXPECT_EQ(id({"X-GitHub-Delivery: b"}), 2);
    EXPECT_EQ(id({"X-GitHub-Delivery: b"}), 2);
    EXPECT_EQ(id({"Stripe-Signature: t=1"}, R"({"id":"evt_1"})"), 3);
    EXPECT_EQ(id({"Stripe-Signature: t=2"}, R"({"id":"evt_1"})"), 3);
    EXPECT_EQ(id({}, R"({"id":"evt_1"})"), 4) << "nobody said that this is Stripe's";
    EXPECT_EQ(id({}, R"({"id":"evt_1"})"), 5);
    EXPECT_EQ(id({"webhook-id: a", "webhook-id: a"}), 6) << "said twice it says nothing";
    EXPECT_EQ(at.ask("GET /api/v1/events/3").at("/delivery_id"), "\"evt_1\"");
    EXPECT_EQ(at.ask("GET /api/v1/events/4").at("/delivery_id"), "null");
}

TEST_F(signed_events, are_verified_and_kept_once) {
    auto const first = send();
    EXPECT_EQ(first.status, 202) << first.body;
    auto const again = send();
    EXPECT_EQ(again.status, 202);
    EXPECT_EQ(again.body, first.body);
    auto const got = at.ask("GET /api/v1/events/1");
    EXPECT_EQ(got.at("/verified"), "true");
    EXPECT_EQ(got.at("/delivery_id"), "\"msg_p5jXN8AQM9LWM0D4loKWxJek\"");
    EXPECT_EQ(at.ask("GET /api/v1/events").at("/pagination/total"), "1");
}

TEST_F(signed_events, that_are_wrong_are_refused_before_anything_is_said_of_the_rest) {
    expect_refused(at.ask(post_shop, body), "there once");
    expect_refused(at.ask(post_shop, body, {id, time}), "there once");
    expect_refused(at.ask(post_shop, body, {id, time, signature, signature}), "there once");
    expect_refused(send(R"({"test":2432232314})"), "does not fit");
    expect_refused(send(body.substr(0, body.size() - 1)), "does not fit");
    expect_refused(send("not JSON"), "does not fit");
    EXPECT_EQ(send().status, 202);
    // A repeat needs its signature too.
    expect_refused(send("{}"), "does not fit");
    at.advance(301'000);
    expect_refused(send(), "300 seconds in the past");
    at.advance(-602'000);
    expect_refused(send(), "300 seconds in the future");
    at.advance(301'000);
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
    auto const shown = at.ask("GET /api/v1/events/shop/secret");
    EXPECT_NE(shown.at("/rotation_ends_at"), "null");
    EXPECT_EQ(put("shop", "{}").status, 201);
    expect_refused(send(), "does not fit");
    EXPECT_EQ(at.ask("DELETE /api/v1/events/shop/secret").status, 204);
    EXPECT_EQ(at.ask("DELETE /api/v1/events/shop/secret").code(), "not_found");
    auto const kept = send();
    EXPECT_EQ(kept.status, 202);
    EXPECT_EQ(kept.id(), 2) << "what nobody vouches for is another delivery";
    EXPECT_EQ(at.ask("GET /api/v1/events/2").at("/verified"), "false");
}

TEST_F(api_test, github_is_known_by_its_delivery_or_an_equal_signature) {
    at.ask("PUT /api/v1/events/hub/secret",
           R"({"format":"github","secret":"It's a Secret to Everybody"})");
    auto const post = [&](lines fields, std::string_view body) {
        return at.ask("POST /api/v1/events/hub", body, std::move(fields));
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
    EXPECT_EQ(at.ask("GET /api/v1/events/1").at("/delivery_id"), "\"a\"");
}

TEST_F(api_test, stripe_is_known_by_the_id_in_its_payload) {
    at.ask("PUT /api/v1/events/pay/secret", R"({"format":"stripe","secret":"whsec_test_secret"})");
    at.now.wall = std::int64_t{1700000000} * 1000;
    auto const post = [&](std::string const& digits, std::string_view body) {
        return at.ask("POST /api/v1/events/pay", body,
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
    EXPECT_EQ(at.ask("GET /api/v1/events/1").at("/delivery_id"), "\"evt_1\"");
    EXPECT_EQ(at.ask("GET /api/v1/events/2").at("/delivery_id"), "null");
}

TEST_F(api_test, a_secret_that_was_made_is_shown_once) {
    auto const made = at.ask("PUT /api/v1/events/shop/secret");
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(made.field("Cache-Control"), "no-store");
    EXPECT_EQ(made.at("/source"), "\"shop\"");
    EXPECT_EQ(made.at("/format"), "\"standard\"");
    EXPECT_EQ(made.json().as_object().size(), 3u);
    EXPECT_EQ(made.field("Location"), "/api/v1/events/shop/secret");
    auto const secret = made.at("/secret");
    EXPECT_EQ(secret.size(), 52u);
    EXPECT_TRUE(secret.starts_with("\"whsec_"));
    auto const shown = at.ask("GET /api/v1/events/shop/secret");
    EXPECT_EQ(shown.status, 200);
    EXPECT_EQ(shown.at("/format"), "\"standard\"");
    EXPECT_EQ(shown.at("/rotation_ends_at"), "null");
    EXPECT_EQ(shown.body.find("whsec_"), std::string::npos);
    EXPECT_EQ(at.ask("GET /api/v1/events/till/secret").code(), "not_found");
    EXPECT_EQ(at.ask("GET /api/v1/events/Shop/secret").code(), "not_found");
    EXPECT_EQ(at.ask("PUT /api/v1/events/Shop/secret").code(), "not_found");
    EXPECT_EQ(at.ask("DELETE /api/v1/events/Shop/secret").code(), "not_found");
    auto const audit = at.ask("GET /api/v1/audit?sort=-id&limit=1");
    EXPECT_EQ(audit.at("/data/0/action"), "\"secret.put\"");
    EXPECT_EQ(audit.at("/data/0/source"), "\"shop\"");
    EXPECT_EQ(audit.at("/data/0/address"), "\"203.0.113.7\"");
    EXPECT_EQ(audit.body.find("whsec_"), std::string::npos);
}

TEST_F(api_test, a_secret_that_was_supplied_is_not_echoed_and_not_kept_in_memory) {
    std::string const text = "an old secret of ours";
    auto const made =
        at.ask("PUT /api/v1/events/shop/secret", R"({"format":"github","secret":")" + text + "\"}");
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(made.at("/secret"), "null");
    EXPECT_EQ(at.buffer.find(text), std::string::npos);
    auto const wrong =
        at.ask("PUT /api/v1/events/shop/secret",
               R"({"format":"svix","secret":"short","overlap_seconds":172801,"x":1})");
    EXPECT_EQ(wrong.faults(),
              (std::map<std::string, std::string>{{"/format", "not_in_enum"},
                                                  {"/secret", "invalid_format"},
                                                  {"/overlap_seconds", "out_of_range"},
                                                  {"/x", "unknown_field"}}));
    EXPECT_EQ(wrong.body.find("short"), std::string::npos);
    EXPECT_EQ(at.ask("PUT /api/v1/events/shop/secret", R"({"secret":null})").status, 422);
    EXPECT_EQ(at.ask("GET /api/v1/events/shop/secret").at("/format"), "\"github\"");
}

}  // namespace
}  // namespace latchkey::api
