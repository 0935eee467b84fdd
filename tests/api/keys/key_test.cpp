// A key's record as JSON (api.md §4), and changes of keys, which the next request sees.
#include "../harness.hpp"
#include "api/keys/key_json.hpp"

namespace latchkey::api {
namespace {

constexpr base::wall_ms now = 1'700'000'000'000;

std::string text_of(model::key const& record, std::optional<std::string_view> plain = {}) {
    std::string text;
    append_key(text, record, now, plain);
    return text;
}

TEST(key_json, of_a_new_key) {
    model::key record{.id = 7, .name = "ci \"1\"", .start = "lkeyABCD", .last4 = "wxyz"};
    record.created_at = now;
    record.scopes.add("users:read");
    record.scopes.add("events:write:github");
    EXPECT_EQ(text_of(record),
              R"({"id":7,"kind":"key","name":"ci \"1\"","project":"default",)"
              R"("environment":"development","start":"lkeyABCD","last4":"wxyz","issuer":null,)"
              R"("subject":null,"scopes":["users:read","events:write:github"],)"
              R"("state":"active","not_before":null,"expires_at":null,)"
              R"("created_at":"2023-11-14T22:13:20.000Z","created_by":null,"deactivated_at":null,)"
              R"("deactivation_reason":null,"last_used_at":null,"replaces":null,)"
              R"("replaced_by":null,"rotation_ends_at":null,"rate_limits":[)"
              R"({"name":"minute","limit":600,"window_seconds":60,"burst":600},)"
              R"({"name":"hour","limit":20000,"window_seconds":3600,"burst":20000}],)"
              R"("ip_allowlist":[],"metadata":{}})");
}

TEST(key_json, of_one_with_everything) {
    model::key record{.id = 8, .environment = model::environment::production, .project = "shop"};
    record.not_before = record.expires_at = record.rotation_ends_at = now + 1;
    record.deactivated_at = now - 1;
    record.deactivation_reason = model::deactivation::compromised;
    record.created_by = 1;
    record.replaces = 2;
    record.replaced_by = 3;
    record.rate_limits = {{"burst", 10, 1, 25}};
    record.ip_allowlist = {*model::cidr::parse("10.0.0.0/8"), *model::cidr::parse("2001:db8::/32")};
    record.metadata = {{"team", "a\nb"}, {"z", ""}};
    reply const response{200, "", text_of(record, "the key")};
    EXPECT_EQ(response.at("/key"), "\"the key\"");
    EXPECT_EQ(response.at("/project") + response.at("/environment"), R"("shop""production")");
    EXPECT_EQ(response.at("/start") + response.at("/last4"), "nullnull");
    EXPECT_EQ(response.at("/state"), "\"deactivated\"");
    EXPECT_EQ(response.at("/deactivation_reason"), "\"compromised\"");
    EXPECT_EQ(response.at("/created_by") + response.at("/replaces") + response.at("/replaced_by"),
              "123");
    EXPECT_EQ(response.at("/rotation_ends_at"), "\"2023-11-14T22:13:20.001Z\"");
    EXPECT_EQ(response.at("/rate_limits/0/burst"), "25");
    EXPECT_EQ(response.at("/ip_allowlist"), R"(["10.0.0.0/8","2001:db8::/32"])");
    EXPECT_EQ(response.at("/metadata"), R"({"team":"a\nb","z":""})");
}

TEST(key_json, of_a_record_for_tokens) {
    model::key record{.id = 7, .kind = model::key_kind::jwt, .name = "job"};
    record.issuer = "https://id.example.com";
    record.subject = "job|1";
    reply const response{200, "", text_of(record, "")};
    EXPECT_EQ(response.at("/kind") + response.at("/key"), R"("jwt"null)");
    EXPECT_EQ(response.at("/issuer") + response.at("/subject"),
              R"("https://id.example.com""job|1")");
    EXPECT_EQ(response.at("/start") + response.at("/last4"), "nullnull");
}

TEST_F(api_test, a_record_for_tokens_is_made_without_a_key) {
    auto const creation = service.request("POST /api/v1/keys", R"({"name": "job", "kind": "jwt",
        "issuer": "https://id.example.com", "subject": "job|1", "scopes": ["users:read"]})");
    EXPECT_EQ(creation.status, 201u);
    EXPECT_EQ(creation.at("/key") + creation.at("/kind"), R"(null"jwt")");
    auto const path = "/api/v1/keys/" + creation.at("/id");
    EXPECT_EQ(service.request("GET " + path).at("/subject"), R"("job|1")");
    auto const repeat = service.request("POST /api/v1/keys", R"({"name": "other", "kind": "jwt",
        "issuer": "https://id.example.com", "subject": "job|1"})");
    EXPECT_EQ(repeat.status, 409u);
    EXPECT_EQ(repeat.code(), "subject_taken");
    auto const rotation = service.request("POST " + path + "/rotate", "{}");
    EXPECT_EQ(rotation.status, 409u);
    EXPECT_EQ(rotation.code(), "key_not_rotatable");
    auto const change = service.request("PATCH " + path, R"({"subject": "job|2"})");
    EXPECT_EQ(change.at("/errors/0/code"), R"("read_only_field")");
    EXPECT_EQ(service
                  .request("PATCH " + path, R"({"subject": "job|1", "kind": "jwt",
        "issuer": "https://id.example.com", "name": "new"})")
                  .status,
              200u);
}

TEST_F(api_test, a_record_for_tokens_names_its_issuer_and_subject) {
    auto const errors = [&](std::string_view members) {
        auto const response = service.request("POST /api/v1/keys",
                                              R"({"name": "job", )" + std::string(members) + "}");
        EXPECT_EQ(response.status, 422u);
        return response.at("/errors/0/pointer") + response.at("/errors/0/code");
    };
    EXPECT_EQ(errors(R"("kind": "jwt", "issuer": "https://a")"), R"("/subject""required")");
    EXPECT_EQ(errors(R"("kind": "jwt", "subject": "a")"), R"("/issuer""required")");
    EXPECT_EQ(errors(R"("kind": "jwt", "issuer": "https://a", "subject": "")"),
              R"("/subject""invalid_format")");
    EXPECT_EQ(errors(R"("kind": "jwt", "issuer": "https://a", "subject": "a\nb")"),
              R"("/subject""invalid_format")");
    EXPECT_EQ(errors(R"("issuer": "https://a", "subject": "a")"), R"("/issuer""invalid_format")");
    EXPECT_EQ(errors(R"("kind": "saml")"), R"("/kind""not_in_enum")");
}

// A text that is refused is not hashed either.
TEST_F(api_test, a_record_for_tokens_has_bounds) {
    struct {
        std::string_view name;
        std::size_t bytes_max;
    } const rows[] = {{"issuer", model::issuer_bytes_max}, {"subject", model::subject_bytes_max}};
    for (auto const& row : rows)
        for (auto const bytes : {row.bytes_max, row.bytes_max + 1, std::size_t{65'535},
                                 std::size_t{65'536}, std::size_t{500'000}}) {
            std::string const other = row.name == "issuer" ? "subject" : "issuer";
            auto const response = service.request(
                "POST /api/v1/keys", R"({"name": "job", "kind": "jwt", ")" + other +
                                         R"(": "a", ")" + std::string(row.name) + R"(": ")" +
                                         std::string(bytes, 'a') + R"("})");
            bool const is_valid = bytes <= row.bytes_max;
            EXPECT_EQ(response.status, is_valid ? 201 : 422) << row.name << bytes;
            if (!is_valid)
                EXPECT_EQ(response.at("/errors/0/code"), R"("invalid_format")")
                    << row.name << bytes;
        }
}

TEST(key_json, states_by_the_clock) {
    model::key record;
    record.not_before = now;
    EXPECT_EQ((reply{200, "", text_of(record)}.at("/state")), "\"active\"");
    record.not_before = now + 1;
    EXPECT_EQ((reply{200, "", text_of(record)}.at("/state")), "\"scheduled\"");
    record.expires_at = now;
    EXPECT_EQ((reply{200, "", text_of(record)}.at("/state")), "\"expired\"");
    record.deactivated_at = now;
    record.deactivation_reason = model::deactivation::manual;
    EXPECT_EQ((reply{200, "", text_of(record)}.at("/state")), "\"deactivated\"");
}

TEST_F(api_test, the_clock_moves_a_key_through_its_states) {
    auto const key = bearer(service.add_key({"*"}, {.not_before = service.now.wall + 1000,
                                                    .expires_at = service.now.wall + 3000,
                                                    .rate_limits = {}}));
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {key}).code(),
              "key_not_yet_active");
    service.advance(999);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {key}).code(),
              "key_not_yet_active");
    service.advance(1);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {key}).status, 200);
    service.advance(1999);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {key}).status, 200);
    service.advance(1);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {key}).code(), "key_expired");
}

// The store, which has its own clock, checks the key again before it writes.
TEST_F(api_test, a_key_that_expires_before_the_commit_writes_nothing) {
    service.advance(-60'000);
    auto const key =
        bearer(service.add_key({"*"}, {.expires_at = service.now.wall + 1000, .rate_limits = {}}));
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {key}).status, 200);
    auto const response =
        service.request_anonymous("POST /api/v1/users", R"({"name":"A","email":"a@b.c"})", {key});
    EXPECT_TRUE(service.committed);
    EXPECT_EQ(response.code(), "key_expired");
    EXPECT_EQ(service.request("GET /api/v1/users").at("/pagination/total"), "0");
}

TEST_F(api_test, other_forms_of_a_key_are_unknown) {
    auto wrong_sum = service.key, wrong_case = service.key;
    wrong_sum.back() = wrong_sum.back() == 'a' ? 'b' : 'a';
    wrong_case[0] = 'L';
    for (auto const& key :
         lines{wrong_sum, wrong_case, service.key + "a", service.key.substr(1), "a",
               std::string(256, 'a'), std::string(4000, 'a'), service.key + "/",
               "eyJhbGciOiJIUzI1NiJ9.e30.ZRrHA1JJJW8opsbCGfG_HACGpVUMN_a9IV7pAx_Zmeo"})
        EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {bearer(key)}).code(),
                  "key_invalid")
            << key;
}

}  // namespace
}  // namespace latchkey::api
