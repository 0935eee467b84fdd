// Webhooks over HTTP (api.md §17): their bodies and faults, PATCH, secrets. What the commands write
// is tested in tests/domain/webhooks/webhook_test.cpp.
#include <boost/json/serialize.hpp>
#include <chrono>
#include <thread>

#include "auth/webhook_signature.hpp"
#include "webhook_fixture.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;
using webhooks = webhooks_test;

// The values that were stored for one origin are not sent to another.
TEST_F(webhooks, give_their_header_values_anew_with_another_origin) {
    auto const id = make(R"({"url":"https://hooks.example.com/in",)"
                         R"("headers":{"Authorization":"Bearer s3cret","X-Trace":"on"}})")
                        .id();
    for (auto const* const url : {"https://hooks.example.org/in", "https://hooks.example.com:8443/",
                                  "https://hooks.example.com.example.org/"}) {
        auto const with_url = [&](std::string const& rest) {
            return patch(id, R"({"url":")" + std::string(url) + '"' + rest + '}');
        };
        faults const both{{"/headers/Authorization", "required"}, {"/headers/X-Trace", "required"}};
        EXPECT_EQ(with_url("").faults(), both) << url;
        EXPECT_EQ(with_url(R"(,"headers":{"Authorization":"***","X-Trace":"***"})").faults(), both);
        EXPECT_EQ(with_url(R"(,"headers":{"authorization":"new","X-Trace":"***"})").faults(),
                  (faults{{"/headers/X-Trace", "required"}}));
    }
    EXPECT_EQ(signing(id).webhook.url, "https://hooks.example.com/in");
    EXPECT_EQ(patch(id, R"({"url":"https://hooks.example.com/other?x=1"})").status, 200);
    EXPECT_EQ(signing(id).webhook.headers[0].second, "Bearer s3cret");
    EXPECT_EQ(patch(id, R"({"url":"https://hooks.example.org/",)"
                        R"("headers":{"Authorization":"new","X-Trace":null}})")
                  .status,
              200);
    EXPECT_EQ(signing(id).webhook.headers.size(), 1u);
    EXPECT_EQ(signing(id).webhook.headers[0].second, "new");
    EXPECT_EQ(patch(id, R"({"url":"https://hooks.example.net/","headers":null})").status, 200);
    EXPECT_EQ(signing(id).webhook.headers.size(), 0u);
}

TEST_F(webhooks, are_made_and_show_their_secret_once) {
    auto const creation =
        make(R"({"url":"https://hooks.example.com:8443/in?x=1","types":["user.*","key.expiring"],)"
             R"("description":"CRM","ordered":true,"max_per_second":50,"signatures":["v1","v1a"],)"
             R"("headers":{"Authorization":"Bearer s3cret","X-Trace":"on"}})");
    ASSERT_EQ(creation.status, 201) << creation.body;
    expect_shape(creation.json(), "CreatedWebhook");
    EXPECT_EQ(creation.field("Location"), path(creation.id()));
    EXPECT_EQ(creation.field("Cache-Control"), "no-store");
    EXPECT_EQ(creation.at("/headers"), R"({"Authorization":"***","X-Trace":"***"})");
    EXPECT_EQ(creation.at("/types"), R"(["user.*","key.expiring"])");
    EXPECT_EQ(creation.at("/signatures"), R"(["v1","v1a"])");
    EXPECT_EQ(creation.at("/max_per_second"), "50");
    EXPECT_EQ(creation.at("/created_by"), "1");
    EXPECT_EQ(creation.at("/project"), "null");
    auto const signer = signing(creation.id());
    EXPECT_EQ(signer.webhook.headers[0].second, "Bearer s3cret");
    auto const secret = auth::secret_text(signer.secrets[0].hmac);
    EXPECT_EQ(creation.at("/secret"), '"' + std::string(secret.text()) + '"');
    EXPECT_EQ(secret.text().size(), 50u);
    EXPECT_EQ(creation.at("/public_key"),
              '"' + auth::public_key_text(auth::public_key_of(signer.secrets[0])) + '"');

    auto const view = get(creation.id());
    EXPECT_EQ(view.status, 200);
    expect_shape(view.json(), "Webhook");
    EXPECT_EQ(view.field("ETag"), creation.field("ETag"));
    EXPECT_EQ(view.field("Cache-Control"), "private, no-cache");
    auto const list = service.request("GET /api/v1/webhooks");
    for (auto const* const each : {&view, &list}) {
        EXPECT_FALSE(has(each->body, secret.text()));
        EXPECT_FALSE(has(each->body, "s3cret"));
    }
    EXPECT_FALSE(has(creation.body, "s3cret"));
}

TEST_F(webhooks, have_defaults) {
    auto const last = last_change();
    auto const creation = make();
    EXPECT_EQ(creation.at("/types"), R"(["*"])");
    EXPECT_EQ(creation.at("/signatures"), R"(["v1"])");
    EXPECT_EQ(creation.at("/headers"), "{}");
    EXPECT_EQ(creation.at("/ordered"), "false");
    EXPECT_EQ(creation.at("/enabled"), "true");
    EXPECT_EQ(creation.at("/position"), std::to_string(last));
    for (auto const* const name :
         {"/description", "/max_per_second", "/disabled_at", "/disabled_reason", "/failing_since",
          "/public_key", "/secret_rotation_ends_at", "/project"})
        EXPECT_EQ(creation.at(name), "null") << name;
    EXPECT_EQ(creation.at("/created_at"), creation.at("/updated_at"));
}

TEST_F(webhooks, bodies_report_all_faults) {
    auto const url = [](std::string_view text) {
        return R"({"url":")" + std::string(text) + "\"}";
    };
    auto const body_with = [](std::string_view members) {
        return R"({"url":"https://hooks.example.com/",)" + std::string(members) + "}";
    };
    std::vector<std::pair<std::string, faults>> rows{
        {"{}", {{"/url", "required"}}},
        {R"({"url":1})", {{"/url", "invalid_type"}}},
        {R"({"url":null})", {{"/url", "null_not_allowed"}}},
        {url("https://hooks.example.com/" + std::string(2048, 'a')), {{"/url", "too_long"}}},
        {body_with(R"("types":[])"), {{"/types", "too_short"}}},
        {body_with(R"("types":null,"ordered":null,"signatures":null)"),
         {{"/types", "null_not_allowed"},
          {"/ordered", "null_not_allowed"},
          {"/signatures", "null_not_allowed"}}},
        {body_with(R"("types":["user.gone",1,"user."],"ordered":"yes","max_per_second":0,)"
                   R"("signatures":["v1","v1","v2"],"extra":1)"),
         {{"/types/0", "not_in_enum"},
          {"/types/1", "invalid_type"},
          {"/types/2", "not_in_enum"},
          {"/ordered", "invalid_type"},
          {"/max_per_second", "out_of_range"},
          {"/signatures", "too_long"},
          {"/extra", "unknown_field"}}},
        {body_with(R"("signatures":["v1","v1"],"max_per_second":10001)"),
         {{"/signatures/1", "invalid_format"}, {"/max_per_second", "out_of_range"}}},
        {body_with(R"("signatures":["v3"],"description":")" + std::string(501, 'd') + '"'),
         {{"/signatures/0", "not_in_enum"}, {"/description", "too_long"}}},
        {body_with(R"("headers":["a"])"), {{"/headers", "invalid_type"}}},
        {body_with(R"("headers":null)"), {{"/headers", "invalid_type"}}},
        {body_with(R"("headers":{"a":1,"b":"","c":" x","d":"x\t","e":"é","f":"***","g g":"x",)"
                   R"("":"x","X-A":"1","x-a":"2","h":null})"),
         {{"/headers/a", "invalid_type"},
          {"/headers/b", "invalid_format"},
          {"/headers/c", "invalid_format"},
          {"/headers/d", "invalid_format"},
          {"/headers/e", "invalid_format"},
          {"/headers/f", "invalid_format"},
          {"/headers/g g", "invalid_format"},
          {"/headers/", "invalid_format"},
          {"/headers/x-a", "invalid_format"},
          {"/headers/h", "invalid_type"}}},
        {body_with(R"("headers":{"X":")" + std::string(4096, 'v') + "\"}"),
         {{"/headers", "too_long"}}},
        {body_with(R"("id":1,"enabled":true,"position":0,"secret":"x","public_key":null)"),
         {{"/id", "read_only_field"},
          {"/enabled", "read_only_field"},
          {"/position", "read_only_field"},
          {"/public_key", "read_only_field"},
          {"/secret", "unknown_field"}}},
    };
    for (auto const* const text :
         {"http://hooks.example.com/", "hooks.example.com", "https://localhost/",
          "https://10.0.0.1/", "https://[::1]/", "https://169.254.169.254/", "https://2130706433/",
          "https://0x7f.1/", "https://user@hooks.example.com/", "https://hooks.example.com/#x",
          "https://hooks/", "https://metadata.google.internal/", "https://[::ffff:8.8.8.8]/",
          "ftp://a.example.com/", "https://hooks.example.com:0/",
          "https://hooks.example.com:65536/", ""})
        rows.push_back({url(text), {{"/url", "invalid_format"}}});
    for (auto const& [body, expected] : rows) {
        auto const refusal = make(body);
        EXPECT_EQ(refusal.status, 422) << body;
        EXPECT_EQ(refusal.faults(), expected) << body;
    }
    EXPECT_EQ(make("{").code(), "invalid_json");
    EXPECT_EQ(make("[]").code(), "validation_failed");
    EXPECT_EQ(service.request("POST /api/v1/webhooks?x=1", simple).code(), "invalid_parameter");
    EXPECT_EQ(service.request("GET /api/v1/webhooks").at("/pagination/total"), "0");
}

TEST_F(webhooks, do_not_take_header_fields_that_the_service_sets) {
    for (auto const* const name :
         {"Host", "content-length", "CONTENT-TYPE", "connection", "transfer-encoding", "te",
          "trailer", "upgrade", "expect", "keep-alive", "proxy-authorization", "webhook-id",
          "Webhook-Anything", "user-agent"})
        EXPECT_EQ(make(R"({"url":"https://hooks.example.com/","headers":{")" + std::string(name) +
                       R"(":"x"}})")
                      .faults(),
                  (faults{{"/headers/" + std::string(name), "invalid_format"}}));
    std::string many;
    for (int i = 0; i < 17; ++i) many += (i == 0 ? "\"x" : ",\"x") + std::to_string(i) + R"(":"v")";
    EXPECT_EQ(make(R"({"url":"https://hooks.example.com/","headers":{)" + many + "}}").faults(),
              (faults{{"/headers", "too_long"}}));
}

TEST_F(webhooks, reach_a_private_network_that_is_allowed) {
    service.settings.webhook_networks = {*model::cidr::parse("127.0.0.0/8")};
    EXPECT_EQ(make(R"({"url":"http://127.0.0.1:8080/"})").status, 201);
    EXPECT_EQ(make(R"({"url":"http://10.0.0.1:8080/"})").faults(),
              (faults{{"/url", "invalid_format"}}));
    EXPECT_EQ(patch(1, R"({"url":"https://127.0.0.1/"})").status, 200);
    service.settings.webhook_networks.clear();
    EXPECT_EQ(patch(1, R"({"url":"https://127.0.0.1/"})").faults(),
              (faults{{"/url", "invalid_format"}}));
}

TEST_F(webhooks, are_patched) {
    auto const creation = make();
    auto const id = creation.id();
    auto const view = get(id);
    // A shown record can be sent back unchanged.
    EXPECT_EQ(patch(id, view.body).body, view.body);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // records are dated in ms
    auto const change = patch(
        id, R"({"url":"https://other.example.com/","types":["post.*"],"description":"d",)"
            R"("ordered":true,"max_per_second":7,"signatures":["v1a"],"headers":{"X-A":"1"}})");
    ASSERT_EQ(change.status, 200) << change.body;
    expect_shape(change.json(), "Webhook");
    EXPECT_EQ(change.at("/url"), "\"https://other.example.com/\"");
    EXPECT_EQ(change.at("/signatures"), R"(["v1a"])");
    EXPECT_TRUE(has(change.at("/public_key"), "whpk_"));
    EXPECT_NE(change.field("ETag"), creation.field("ETag"));
    EXPECT_NE(change.at("/updated_at"), change.at("/created_at"));
    // With a public key too, and whatever it says about what moves by itself.
    auto record = change.json().as_object();
    record["position"] = 99;
    record["failing_since"] = "2026-01-02T03:04:05.678Z";
    EXPECT_EQ(patch(id, boost::json::serialize(record)).body, change.body);
    auto const cleared = patch(id, R"({"description":null,"max_per_second":null})");
    EXPECT_EQ(cleared.at("/description"), "null");
    EXPECT_EQ(cleared.at("/max_per_second"), "null");
    EXPECT_EQ(patch(id, "{}").body, cleared.body);

    auto const wrong = R"({"url":null,"id":99,"project":"q","created_at":"2020-01-01T00:00:00Z",)"
                       R"("public_key":"whpk_x","secret":"x","created_by":true})";
    EXPECT_EQ(patch(id, wrong).faults(), (faults{{"/url", "null_not_allowed"},
                                                 {"/id", "read_only_field"},
                                                 {"/project", "read_only_field"},
                                                 {"/created_at", "read_only_field"},
                                                 {"/public_key", "read_only_field"},
                                                 {"/created_by", "read_only_field"},
                                                 {"/secret", "unknown_field"}}));
    EXPECT_EQ(patch(99, "{}").code(), "not_found");
    EXPECT_EQ(patch(99, R"({"url":1})").status, 422);
    EXPECT_EQ(service
                  .request("PATCH " + path(id), R"({"ordered":false})",
                           {"Content-Type: application/merge-patch+json"})
                  .status,
              200);
}

TEST_F(webhooks, keep_header_values_that_come_back_masked) {
    auto const id =
        make(R"({"url":"https://hooks.example.com/","headers":{"X-A":"1","X-B":"2","X-C":"3"}})")
            .id();
    auto const change =
        patch(id, R"({"headers":{"x-a":"***","X-B":null,"X-C":"4","X-D":"5","X-E":null}})");
    EXPECT_EQ(change.at("/headers"), R"({"X-A":"***","X-C":"***","X-D":"***"})") << change.body;
    std::vector<std::pair<std::string, std::string>> const expected{
        {"X-A", "1"}, {"X-C", "4"}, {"X-D", "5"}};
    EXPECT_EQ(signing(id).webhook.headers, expected);
    EXPECT_EQ(patch(id, R"({"headers":{"X-Z":"***","X-A":"9"}})").faults(),
              (faults{{"/headers/X-Z", "invalid_format"}}));
    EXPECT_EQ(patch(id, R"({"headers":{"X-L":")" + std::string(4085, 'v') + "\"}}").faults(),
              (faults{{"/headers", "too_long"}}))
        << "together with those that stay";
    EXPECT_EQ(signing(id).webhook.headers, expected);
    EXPECT_EQ(patch(id, R"({"headers":null})").at("/headers"), "{}");
}

TEST_F(webhooks, are_deleted) {
    auto const id = make().id();
    EXPECT_EQ(service.request("DELETE " + path(id) + "?x=1").code(), "invalid_parameter");
    auto const deletion = service.request("DELETE " + path(id));
    EXPECT_EQ(deletion.status, 204);
    EXPECT_EQ(deletion.body, "");
    EXPECT_EQ(get(id).code(), "not_found");
    EXPECT_EQ(service.request("DELETE " + path(id)).code(), "not_found");
    EXPECT_EQ(service.request("GET " + path(id, "/deliveries")).code(), "not_found");
    EXPECT_EQ(make().id(), id + 1) << "an id is never used again";
}

TEST_F(webhooks, get_a_new_secret_and_sign_with_both_for_a_while) {
    auto const creation = make(R"({"url":"https://hooks.example.com/","signatures":["v1","v1a"]})");
    auto const id = creation.id();
    auto const rotated = post(id, "/rotate-secret", R"({"overlap_seconds":60})");
    ASSERT_EQ(rotated.status, 200) << rotated.body;
    expect_shape(rotated.json(), "CreatedWebhook");
    EXPECT_EQ(rotated.field("Cache-Control"), "no-store");
    EXPECT_NE(rotated.at("/secret"), creation.at("/secret"));
    EXPECT_NE(rotated.at("/public_key"), creation.at("/public_key"));
    EXPECT_NE(rotated.at("/secret_rotation_ends_at"), "null");
    EXPECT_EQ(signing(id).secrets.size(), 2u);
    service.advance(61'000);
    EXPECT_EQ(signing(id).secrets.size(), 1u);
    auto const later = get(id);
    EXPECT_EQ(later.at("/secret_rotation_ends_at"), "null");
    EXPECT_NE(later.field("ETag"), creation.field("ETag"));

    EXPECT_NE(post(id, "/rotate-secret").at("/secret_rotation_ends_at"), "null") << "a day";
    EXPECT_EQ(post(id, "/rotate-secret", R"({"overlap_seconds":0})").at("/secret_rotation_ends_at"),
              "null");
    EXPECT_EQ(signing(id).secrets.size(), 1u);
    EXPECT_EQ(post(id, "/rotate-secret", R"({"overlap_seconds":172801})").faults(),
              (faults{{"/overlap_seconds", "out_of_range"}}));
    EXPECT_EQ(post(id, "/rotate-secret", R"({"overlap":1})").faults(),
              (faults{{"/overlap", "unknown_field"}}));
    EXPECT_EQ(post(99, "/rotate-secret").code(), "not_found");
}

}  // namespace
}  // namespace latchkey::api
