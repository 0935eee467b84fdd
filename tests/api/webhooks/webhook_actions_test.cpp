// What else a client may ask of a webhook (api.md §17): enable, test, deliveries, replay.
#include "model/message_id.hpp"
#include "webhook_fixture.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;
using webhook_actions = webhooks_test;

TEST_F(webhook_actions, are_disabled_and_enabled) {
    auto const id = make().id();
    auto const disabling = patch(id, R"({"enabled":false})");
    EXPECT_EQ(disabling.at("/enabled"), "false");
    EXPECT_EQ(disabling.at("/disabled_reason"), "\"manual\"");
    EXPECT_NE(disabling.at("/disabled_at"), "null");
    for (auto const* const action : {"/test", "/replay"})
        EXPECT_EQ(post(id, action, action[1] == 'r' ? R"({"sequences":[1]})" : "").code(),
                  "webhook_disabled");
    auto const enabling = post(id, "/enable");
    EXPECT_EQ(enabling.status, 200);
    expect_shape(enabling.json(), "Webhook");
    EXPECT_EQ(enabling.at("/enabled"), "true");
    EXPECT_EQ(enabling.at("/disabled_at"), "null");
    EXPECT_EQ(enabling.at("/disabled_reason"), "null");
    EXPECT_EQ(enabling.at("/position"), disabling.at("/position")) << "goes on where it stopped";
    EXPECT_EQ(post(id, "/enable", "{}").body, enabling.body) << "again: nothing changes";
    EXPECT_EQ(post(id, "/enable", R"({"x":1})").faults(), (faults{{"/x", "unknown_field"}}));
    EXPECT_EQ(post(99, "/enable").code(), "not_found");
}

TEST_F(webhook_actions, are_tested) {
    auto const id =
        make(R"({"url":"https://hooks.example.com/","types":["user.created"],"ordered":true})")
            .id();
    auto const sequence = last_change();
    auto const later = service.now.wall + 3'600'000;
    deliver(id, sequence, model::delivery_state::pending,
            {{.time = service.now.wall, .status = 500}}, later);
    auto const tested = post(id, "/test");
    ASSERT_EQ(tested.status, 202) << tested.body;
    expect_shape(tested.json(), "WebhookChange");
    EXPECT_EQ(tested.at("/type"), "\"webhook.test\"");
    EXPECT_EQ(tested.at("/key_id"), "1");
    EXPECT_EQ(tested.field("ETag"), "");
    expect_shape(tested.json().at("data"), "Webhook");
    EXPECT_EQ(tested.at("/data/id"), std::to_string(id));
    auto const feed = service.request("GET /api/v1/changes?type=webhook.test");
    EXPECT_EQ(feed.at("/data/0"), tested.body) << "the change is that of the feed";
    auto const waiting = service.request("GET " + path(id, "/deliveries?state=pending"));
    EXPECT_LE(
        *base::parse_timestamp(waiting.json().at_pointer("/data/0/next_attempt_at").as_string()),
        service.now.wall + 60'000)
        << "what waited for a further attempt is due";
    EXPECT_EQ(post(id, "/test", R"({"x":1})").faults(), (faults{{"/x", "unknown_field"}}));
    EXPECT_EQ(post(99, "/test").code(), "not_found");
}

TEST_F(webhook_actions, list_their_deliveries) {
    auto const id = make().id();
    auto const other = make().id();
    EXPECT_EQ(service.request("GET " + path(id, "/deliveries")).body,
              R"({"data":[],"pagination":{"next_before":null,"has_more":false}})");
    std::vector<model::id> sequences;
    using enum model::delivery_state;
    for (auto const state : {delivered, failed, pending, delivered}) {
        sequences.push_back(last_change());
        deliver(other, sequences.back(), delivered, {});
        deliver(id, sequences.back(), state,
                {{.time = service.now.wall, .duration_ms = 20, .error = "no route", .response = {}},
                 {.time = service.now.wall,
                  .status = 500,
                  .duration_ms = 3,
                  .error = {},
                  .response = "no\x80"}},
                state == pending ? service.now.wall + 5000 : 0);
    }
    auto const whole = service.request("GET " + path(id, "/deliveries"));
    ASSERT_EQ(whole.status, 200) << whole.body;
    expect_shape(whole.json(), "DeliveryList");
    expect_shape(whole.json().at_pointer("/data/0"), "Delivery");
    expect_shape(whole.json().at_pointer("/data/0/attempts/0"), "DeliveryAttempt");
    EXPECT_EQ(whole.field("Cache-Control"), "private, no-cache");
    ASSERT_EQ(whole.json().at("data").as_array().size(), 4u);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(whole.at("/data/" + std::to_string(i) + "/sequence"),
                  std::to_string(sequences[3 - i]));
    EXPECT_EQ(whole.at("/data/1/state"), "\"pending\"");
    EXPECT_NE(whole.at("/data/1/next_attempt_at"), "null");
    EXPECT_EQ(whole.at("/data/0/next_attempt_at"), "null");
    EXPECT_EQ(whole.at("/data/0/attempts/0/status"), "null");
    EXPECT_EQ(whole.at("/data/0/attempts/0/error"), "\"no route\"");
    EXPECT_EQ(whole.at("/data/0/attempts/0/response"), "null");
    EXPECT_EQ(whole.at("/data/0/attempts/1/status"), "500");
    EXPECT_EQ(whole.at("/data/0/attempts/1/error"), "null");
    EXPECT_TRUE(has(whole.at("/data/0/attempts/1/response"), "no")) << "any bytes make JSON";
    auto const change = service.request(
        "GET /api/v1/changes?after=" + std::to_string(sequences[3] - 1) + "&limit=1");
    auto const time =
        *base::parse_timestamp(change.json().at_pointer("/data/0/occurred_at").as_string());
    EXPECT_EQ(whole.at("/data/0/message_id"), '"' + model::message_id(sequences[3], time) + '"');

    auto const page = service.request("GET " + path(id, "/deliveries?limit=3"));
    EXPECT_EQ(page.at("/pagination"),
              R"({"next_before":)" + std::to_string(sequences[1]) + R"(,"has_more":true})");
    auto const rest = service.request(
        "GET " + path(id, "/deliveries?limit=3&before=" + std::to_string(sequences[1])));
    EXPECT_EQ(rest.at("/data/0/sequence"), std::to_string(sequences[0]));
    EXPECT_EQ(rest.at("/pagination/has_more"), "false");
    for (auto const& [state, count] :
         std::map<std::string, std::size_t>{{"pending", 1}, {"delivered", 2}, {"failed", 1}})
        EXPECT_EQ(service.request("GET " + path(id, "/deliveries?state=" + state))
                      .json()
                      .at("data")
                      .as_array()
                      .size(),
                  count)
            << state;
    for (auto const* const query : {"?state=gone", "?before=x", "?before=0", "?limit=0",
                                    "?limit=-1", "?page=1", "?state=failed&state=failed"})
        EXPECT_EQ(service.request("GET " + path(id, "/deliveries") + query).code(),
                  "invalid_parameter")
            << query;
    EXPECT_EQ(service.request("GET " + path(id, "/deliveries?limit=1000")).status, 200);
}

TEST_F(webhook_actions, replay_changes) {
    auto const first = last_change();
    auto const last = last_change();
    auto const id = make().id();
    auto const range = [](model::id low, model::id high) {
        return R"({"from_sequence":)" + std::to_string(low) + R"(,"to_sequence":)" +
               std::to_string(high) + "}";
    };
    auto const replayed = post(id, "/replay", range(first, last));
    ASSERT_EQ(replayed.status, 202) << replayed.body;
    expect_shape(replayed.json(), "ReplayRange");
    EXPECT_EQ(replayed.body, range(first, last));
    EXPECT_EQ(replayed.field("ETag"), "");
    EXPECT_EQ(post(id, "/replay", R"({"from_sequence":1})").body, range(1, last));
    auto const some = R"({"sequences":[)" + std::to_string(last) + ",1]}";
    EXPECT_EQ(post(id, "/replay", some).body, range(1, last));
    EXPECT_EQ(post(id, "/replay", R"({"from":"2020-01-01T00:00:00Z"})").body, range(1, last));
    auto const by_time = R"({"from":"2020-01-01T00:00:00Z","to":"2099-01-01T00:00:00Z"})";
    EXPECT_EQ(post(id, "/replay", by_time).body, range(1, last));
    service.services().snapshot.renew();
    EXPECT_EQ(domain::read_replays(service.services().snapshot, id).size(), 6u)
        << "the two sequences are ranges of their own";

    std::string many = "1";
    for (int i = 0; i < 100; ++i) many += ",1";
    auto const beyond = std::to_string(last + 1);
    std::vector<std::pair<std::string, faults>> const rows{
        {"{}", {{"/sequences", "required"}}},
        {R"({"sequences":[]})", {{"/sequences", "too_short"}}},
        {R"({"sequences":1})", {{"/sequences", "invalid_type"}}},
        {R"({"sequences":[)" + many + "]}", {{"/sequences", "too_long"}}},
        {R"({"sequences":[0,"1",1]})",
         {{"/sequences/0", "out_of_range"}, {"/sequences/1", "invalid_type"}}},
        {R"({"sequences":[1,)" + beyond + "]}", {{"/sequences/1", "reference_not_found"}}},
        {R"({"sequences":[1],"from_sequence":1})", {{"/sequences", "invalid_format"}}},
        {R"({"from_sequence":1,"from":"2020-01-01T00:00:00Z"})",
         {{"/sequences", "invalid_format"}}},
        {R"({"to_sequence":1})", {{"/from_sequence", "required"}}},
        {R"({"from_sequence":2,"to_sequence":1})", {{"/to_sequence", "out_of_range"}}},
        {R"({"from_sequence":)" + beyond + "}", {{"/from_sequence", "out_of_range"}}},
        {R"({"to":"2020-01-01T00:00:00Z"})", {{"/from", "required"}}},
        {R"({"from":"soon"})", {{"/from", "invalid_format"}}},
        {R"({"from":"2020-01-01T00:00:00Z","to":"2019-01-01T00:00:00Z"})",
         {{"/to", "out_of_range"}}},
        {R"({"from":"2099-01-01T00:00:00Z"})", {{"/from", "out_of_range"}}},
        {R"({"sequences":[1],"x":1})", {{"/x", "unknown_field"}}},
    };
    for (auto const& [body, expected] : rows) {
        auto const refusal = post(id, "/replay", body);
        EXPECT_EQ(refusal.status, 422) << body;
        EXPECT_EQ(refusal.faults(), expected) << body;
    }
    EXPECT_EQ(post(99, "/replay", R"({"sequences":[1]})").code(), "not_found");
}

TEST_F(webhook_actions, say_what_is_kept_where_changes_have_expired) {
    last_change();
    auto const id = make().id();
    service.next_outcome = domain::outcome{.problem = base::problem::changes_expired};
    auto const refusal = post(id, "/replay", R"({"from_sequence":1})");
    EXPECT_EQ(refusal.status, 410);
    EXPECT_EQ(refusal.at("/oldest"), "1");
}

}  // namespace
}  // namespace latchkey::api
