// POST /introspect (RFC 7662, api.md §19).
#include "../harness.hpp"
#include "tests/auth/token_signer.hpp"

namespace latchkey::api {
namespace {

class introspection : public api_test {
  protected:
    introspection() { service.accept_tokens_of(signer_); }

    reply ask(std::string const& form, std::string const& key = {}) {
        return service.request_anonymous("POST /api/v1/introspect", form,
                                         {"Content-Type: application/x-www-form-urlencoded",
                                          bearer(key.empty() ? service.key : key)});
    }
    std::string token(std::string const& claims, std::int64_t seconds = 300) {
        return signer_.sign(R"("sub":"anna","exp":)" +
                            std::to_string(service.now.clock / 1000 + seconds) + claims);
    }
    static void expect_inactive(reply const& response) {
        EXPECT_EQ(response.status, 200);
        EXPECT_EQ(response.body, R"({"active":false})");
    }

    auth::token_signer signer_;
};

TEST_F(introspection, of_a_key) {
    auto const key = service.add_key({"users:read", "posts:*"});
    auto const id = std::to_string(service.last_key());
    auto const response = ask("token_type_hint=access_token&token=" + key + "&more=1");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.at("/active") + response.at("/scope"), R"(true"users:read posts:*")");
    EXPECT_EQ(response.at("/client_id") + response.at("/sub"), '"' + id + "\"\"" + id + '"');
    EXPECT_EQ(response.at("/token_type"), "\"Bearer\"");
    for (auto const* const absent : {"/exp", "/nbf", "/iss", "/aud"})
        EXPECT_EQ(response.at(absent), "") << absent;
    EXPECT_EQ(response.field("Cache-Control"), "no-store");
    EXPECT_EQ(service.buffer.find(key), std::string::npos) << "wiped";
}

TEST_F(introspection, of_a_token) {
    auto const end = service.now.clock / 1000 + 300;
    auto const record = service.add_bearer(signer_, "anna", {"users:*"});
    auto const response =
        ask("token=" + token(R"(,"iat":1700000000,"nbf":1700000001,"scope":"openid users:read")"));
    EXPECT_EQ(response.at("/active") + response.at("/scope"), R"(true"users:read")");
    EXPECT_EQ(response.at("/client_id"), '"' + std::to_string(record.id) + '"');
    EXPECT_EQ(response.at("/sub") + response.at("/iss") + response.at("/aud"),
              R"("anna""https://id.example.com""latchkey")");
    EXPECT_EQ(response.at("/exp"), std::to_string(end));
    EXPECT_EQ(response.at("/iat") + response.at("/nbf"), "17000000001700000001");
}

TEST_F(introspection, tells_the_earliest_end) {
    auto const seconds_of = [](base::wall_ms time) { return std::to_string(time / 1000); };
    auto const now = service.now.wall;
    struct {
        base::wall_ms expires_at, rotation_ends_at;
        std::string expected;
    } const rows[] = {
        {now + 90'000, 0, seconds_of(now + 90'000)},
        {0, now + 60'000, seconds_of(now + 60'000)},
        {now + 90'000, now + 60'000, seconds_of(now + 60'000)},
        {now + 30'000, now + 60'000, seconds_of(now + 30'000)},
    };
    for (auto const& row : rows) {
        model::key record{.expires_at = row.expires_at, .rate_limits = {}};
        record.rotation_ends_at = row.rotation_ends_at;
        EXPECT_EQ(ask("token=" + service.add_key({"users:read"}, record)).at("/exp"), row.expected);
    }
    // Rotated by a request, it ends with the overlap.
    auto const key = service.add_key({"users:read"});
    auto const rotation =
        service.request("POST /api/v1/keys/" + std::to_string(service.last_key()) + "/rotate",
                        R"({"overlap_seconds":600})");
    EXPECT_EQ(rotation.status, 201);
    auto const end = std::stoll(ask("token=" + key).at("/exp")) - now / 1000;
    EXPECT_TRUE(end >= 590 && end <= 610) << end;
    auto const verdict = service.request("POST /api/v1/keys/verify", R"({"key":")" + key + "\"}");
    EXPECT_NE(verdict.at("/expires_at"), "null");
    // Of a token and its record.
    service.add_bearer(signer_, "anna", {"users:*"},
                       {.expires_at = now + 100'000, .rate_limits = {}});
    EXPECT_EQ(ask("token=" + token("", 300)).at("/exp"), seconds_of(now + 100'000));
    EXPECT_EQ(ask("token=" + token("", 50)).at("/exp"),
              std::to_string(service.now.clock / 1000 + 50));
}

TEST_F(introspection, shows_the_audience_as_the_token_has_it) {
    service.add_bearer(signer_, "anna", {"users:*"});
    auto const end = std::to_string(service.now.clock / 1000 + 300);
    auto const of_many = ask(
        "token=" + signer_.sign_for(R"(["account","latchkey"])", R"("sub":"anna","exp":)" + end));
    EXPECT_EQ(of_many.at("/active") + of_many.at("/aud"), R"(true["account","latchkey"])");
    EXPECT_EQ(ask("token=" + token("")).at("/aud"), "\"latchkey\"");
}

// Whatever is wrong with the request, its body has had a credential.
TEST_F(introspection, leaves_no_token_in_the_buffer) {
    auto const key = service.add_key({"users:read"}), other = service.add_key({"users:read"});
    auto const is_wiped = [&] {
        return service.buffer.find(key) == std::string::npos &&
               service.buffer.find(other) == std::string::npos;
    };
    for (auto const& form : {"token=" + key + "&token=" + other, "token=%zz&a=" + key,
                             "a=b&tokem=" + key, "token=" + key + "&token=%zz"}) {
        EXPECT_EQ(ask(form).status, 422) << form;
        EXPECT_TRUE(is_wiped()) << form;
    }
    auto const wrong_query = service.request_anonymous(
        "POST /api/v1/introspect?a=b", "token=" + key,
        {"Content-Type: application/x-www-form-urlencoded", bearer(service.key)});
    EXPECT_EQ(wrong_query.status, 400);
    EXPECT_TRUE(is_wiped());
    for (auto const& json : {R"({"token":")" + key + R"(","more":1})", R"({"token":")" + key + "\"",
                             R"({"token":")" + key + R"(","token":")" + other + "\"}",
                             R"(["token",")" + key + "\"]", R"({"tokem":")" + key + "\"}"}) {
        EXPECT_NE(service.request("POST /api/v1/introspect", json).status, 200) << json;
        EXPECT_TRUE(is_wiped()) << json;
    }
}

TEST_F(introspection, takes_json_too) {
    auto const key = service.add_key({"users:read"});
    auto const response = service.request("POST /api/v1/introspect", R"({"token":")" + key + "\"}");
    EXPECT_EQ(response.at("/active"), "true");
    EXPECT_EQ(service.buffer.find(key), std::string::npos) << "wiped";
    EXPECT_EQ(service.request("POST /api/v1/introspect", R"({"token":1})").faults(),
              (std::map<std::string, std::string>{{"/token", "invalid_type"}}));
    auto const other =
        service.request("POST /api/v1/introspect", "token=a", {"Content-Type: text/plain"});
    EXPECT_EQ(other.code(), "unsupported_media_type");
    EXPECT_NE(other.body.find("application/x-www-form-urlencoded or application/json"),
              std::string::npos)
        << other.body;
    EXPECT_EQ(other.field("Accept"), "application/x-www-form-urlencoded, application/json");
    EXPECT_EQ(service
                  .request("POST /api/v1/users", "name=a",
                           {"Content-Type: application/x-www-form-urlencoded"})
                  .code(),
              "unsupported_media_type")
        << "no other operation takes a form";
}

TEST_F(introspection, says_no_more_than_that_it_is_not_good) {
    auto const record = service.add_bearer(signer_, "anna");
    for (auto const& text :
         {std::string("nothing"), auth::unknown_key(), token("", -1), token("") + "A",
          auth::token_signer("1").sign(R"("sub":"anna","exp":4000000000)")})
        expect_inactive(ask("token=" + text));
    auto const good = "token=" + token("");
    EXPECT_EQ(ask(good).at("/active"), "true");
    auto const path = "/api/v1/keys/" + std::to_string(record.id);
    service.request("PATCH " + path, R"({"ip_allowlist": ["192.0.2.0/24"]})");
    expect_inactive(ask(good));
    service.request("PATCH " + path, R"({"ip_allowlist": []})");
    EXPECT_EQ(ask(good).at("/active"), "true");
    service.request("POST " + path + "/deactivate", "{}");
    expect_inactive(ask(good));
    expect_inactive(ask("token="));
}

TEST_F(introspection, shows_a_caller_its_own_project_alone) {
    auto const key = service.add_key({"users:read"}, {.project = "shop", .rate_limits = {}});
    auto const other = service.add_key({"keys:verify"});
    auto const own = service.add_key({"keys:verify"}, {.project = "shop", .rate_limits = {}});
    expect_inactive(ask("token=" + key, other));
    EXPECT_EQ(ask("token=" + key, own).at("/active"), "true");
    auto const all = service.add_key({"keys:verify_all"});
    EXPECT_EQ(ask("token=" + key, all).at("/active"), "true");
    EXPECT_EQ(ask("token=" + key, all).body, ask("token=" + key).body);
    EXPECT_EQ(ask("token=" + key, key).code(), "insufficient_scope");
}

TEST_F(introspection, needs_one_token) {
    for (auto const* const form : {"a=b", "token=a&token=b", "token=%zz", "x"}) {
        auto const response = ask(form);
        EXPECT_EQ(response.status, 422) << form;
        EXPECT_EQ(response.faults().count("/token"), 1u) << form;
    }
    EXPECT_EQ(ask("tok%65n=" + service.add_key({"users:read"})).at("/active"), "true");
}

// Neither the limits nor the usage of the key that is asked about.
TEST_F(introspection, costs_the_key_nothing) {
    auto const key = service.add_key({"users:read"}, {.rate_limits = {{"minute", 1, 60, 0}}});
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("token=" + key).at("/active"), "true");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {bearer(key)}).status, 200);
}

}  // namespace
}  // namespace latchkey::api
