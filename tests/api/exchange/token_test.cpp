// JWTs as credentials of whole requests (api.md §19).
#include "../harness.hpp"
#include "api/exchange/protected_resource.hpp"
#include "tests/auth/token_signer.hpp"

namespace latchkey::api {
namespace {

class tokens : public api_test {
  protected:
    tokens() { service.accept_tokens_of(signer_); }

    std::string token(std::string_view subject, std::string const& claims = {},
                      std::int64_t seconds = 300) {
        auto const end = service.now.clock / 1000 + seconds;
        return signer_.sign(R"("sub":")" + std::string(subject) + R"(","exp":)" +
                            std::to_string(end) + claims);
    }
    std::string scoped(std::string_view subject, std::string const& scopes) {
        return token(subject, R"(,"scope":")" + scopes + '"');
    }
    reply show(std::string_view text, std::string_view line = "GET /api/v1/users") {
        return service.request_anonymous(line, {}, {bearer(text)});
    }

    auth::token_signer signer_;
};

TEST_F(tokens, do_what_their_record_may) {
    auto const record = service.add_bearer(signer_, "anna", {"users:read"},
                                           {.rate_limits = {{"minute", 10, 60, 0}}});
    auto const text = token("anna");
    auto const response = show(text);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.field("RateLimit"), R"("minute";r=9;t=54)");
    EXPECT_EQ(service.exchange.key_id(), record.id);
    EXPECT_EQ(name_of(service.exchange.source()), "jwt");
    EXPECT_EQ(service.buffer.find(text), std::string::npos) << "wiped";
    EXPECT_EQ(show(text, "GET /api/v1/posts").code(), "insufficient_scope");
    EXPECT_EQ(show(text, "GET /api/v1/keys/current").at("/subject"), "\"anna\"");
}

// RFC 9728.
TEST_F(tokens, are_asked_for_with_where_they_come_from) {
    std::string const path = "/.well-known/oauth-protected-resource";
    service.settings.protected_resource.clear();
    EXPECT_EQ(service.request_anonymous("GET " + path).code(), "route_not_found");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users").field("WWW-Authenticate"),
              R"(Bearer realm="api")");
    for (auto const* const origin : {"", "http://api.example.com"}) {
        service.settings.base_url = origin;
        describe_protected_resource({"https://id.example.com"}, service.settings);
        EXPECT_EQ(service.settings.protected_resource, "") << "no https URL names the resource";
    }
    service.settings.base_url = "https://api.example.com";
    describe_protected_resource({}, service.settings);
    EXPECT_EQ(service.settings.protected_resource, "");
    describe_protected_resource({"https://id.example.com", "a name"}, service.settings);
    auto const document = service.request_anonymous("GET " + path);
    EXPECT_EQ(document.status, 200);
    EXPECT_EQ(document.at("/resource"), "\"https://api.example.com\"");
    EXPECT_EQ(document.at("/authorization_servers"), R"(["https://id.example.com"])");
    EXPECT_EQ(document.at("/bearer_methods_supported"), R"(["header"])");
    EXPECT_NE(document.at("/scopes_supported").find("\"users:read\""), std::string::npos);
    std::string const metadata = ", resource_metadata=\"https://api.example.com" + path + '"';
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users").field("WWW-Authenticate"),
              R"(Bearer realm="api")" + metadata);
    EXPECT_EQ(show("x").field("WWW-Authenticate"),
              R"(Bearer realm="api", error="invalid_token")" + metadata);
    EXPECT_TRUE(show(token("nobody", {}, -10)).field("WWW-Authenticate").ends_with(metadata));
    EXPECT_EQ(service.request_anonymous("GET /auth").field("WWW-Authenticate"),
              R"(Bearer realm="api")")
        << "a gateway's resource is another one";
}

TEST_F(tokens, are_told_why_they_are_refused) {
    service.add_bearer(signer_, "anna");
    auth::token_signer const stranger("1");
    struct {
        std::string text;
        std::string_view code;
    } const rows[] = {
        {token("anna", {}, -10), "token_expired"},
        {token("anna", R"(,"nbf":)" + std::to_string(service.now.clock / 1000 + 60)),
         "token_not_yet_valid"},
        {stranger.sign(R"("sub":"anna","exp":4000000000)"), "token_invalid"},
        {signer_.sign(R"("sub":"anna")"), "token_invalid"},
        {token("anna") + "A", "token_invalid"},
        {token("ben"), "key_invalid"},
    };
    for (auto const& row : rows) {
        auto const response = show(row.text);
        EXPECT_EQ(response.status, 401) << row.code;
        EXPECT_EQ(response.code(), row.code);
        auto const challenge = response.field("WWW-Authenticate");
        EXPECT_TRUE(challenge.starts_with(R"(Bearer realm="api", error="invalid_token")"))
            << challenge;
        if (row.code == "key_invalid") continue;
        auto const detail = response.at("/detail");
        EXPECT_EQ(challenge,
                  R"(Bearer realm="api", error="invalid_token", error_description=)" + detail);
        EXPECT_EQ(service.buffer.find(row.text), std::string::npos);
    }
}

// A key's way for a token would let it end up where keys may come, in URLs and logs.
TEST_F(tokens, count_in_the_field_authorization_alone) {
    service.add_bearer(signer_, "anna");
    auto const text = token("anna");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {"X-API-Key: " + text}).code(),
              "key_invalid");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users?api_key=" + text).code(), "key_invalid");
    EXPECT_EQ(service
                  .request_anonymous("POST /api/v1/users",
                                     R"({"name":"a","email":"a@b.c","api_key":")" + text + "\"}")
                  .status,
              401);
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {"Authorization: bEARER  " + text})
                  .status,
              200);
    EXPECT_EQ(
        service.request_anonymous("GET /api/v1/users", {}, {bearer(text), bearer(text)}).code(),
        "duplicate_credentials");
    EXPECT_EQ(
        service.request_anonymous("GET /api/v1/users", {}, {"Authorization: DPoP " + text}).code(),
        "key_missing");
}

TEST_F(tokens, without_an_issuer_are_unknown_keys) {
    service.add_bearer(signer_, "anna");
    service.services().tokens = nullptr;
    EXPECT_EQ(show(token("anna")).code(), "key_invalid");
}

TEST_F(tokens, are_refused_as_keys_are_once_their_record_is_known) {
    auto const record = service.add_bearer(signer_, "anna");
    auto const text = token("anna");
    EXPECT_EQ(show(text).status, 200);
    auto const path = "/api/v1/keys/" + std::to_string(record.id);
    EXPECT_EQ(service.request("POST " + path + "/deactivate", "{}").status, 200);
    EXPECT_EQ(show(text).code(), "key_deactivated");
    EXPECT_EQ(service.request("POST " + path + "/reactivate", "{}").status, 200);
    EXPECT_EQ(show(text).status, 200);
    EXPECT_EQ(service.request("PATCH " + path, R"({"ip_allowlist": ["192.0.2.0/24"]})").status,
              200);
    EXPECT_EQ(show(text).code(), "ip_not_allowed");
}

TEST_F(tokens, may_have_fewer_scopes_than_their_record) {
    service.add_bearer(signer_, "anna", {"*"});
    service.add_user();
    auto const narrow = scoped("anna", "openid users:read keys:write");
    EXPECT_EQ(show(narrow).status, 200);
    EXPECT_EQ(show(narrow, "DELETE /api/v1/users/1").code(), "insufficient_scope");
    EXPECT_EQ(show(narrow, "GET /api/v1/service").code(), "insufficient_scope");
    EXPECT_EQ(show(scoped("anna", "openid")).code(), "insufficient_scope");
    // Neither may they grant more, nor in another project.
    auto const create = [&](std::string const& members) {
        return service
            .request_anonymous("POST /api/v1/keys", R"({"name":"a",)" + members + "}",
                               {bearer(narrow)})
            .status;
    };
    EXPECT_EQ(create(R"("scopes":["users:read"])"), 201);
    EXPECT_EQ(create(R"("scopes":["users:write"])"), 403);
    EXPECT_EQ(create(R"("scopes":["users:read"],"project":"other")"), 403);
    auto const all = service.request_anonymous("POST /api/v1/keys",
                                               R"({"name":"a","scopes":["*"],"project":"other"})",
                                               {bearer(token("anna"))});
    EXPECT_EQ(all.status, 201);
    // A project that is not its own is out of sight.
    auto const path = "GET /api/v1/keys/" + all.at("/id");
    EXPECT_EQ(show(scoped("anna", "*:read"), path).status, 404);
    EXPECT_EQ(show(token("anna"), path).status, 200);
}

TEST_F(tokens, of_one_record_are_one_caller_under_an_idempotency_key) {
    service.add_bearer(signer_, "anna");
    auto const post = [&](std::string const& text) {
        return service.request_anonymous("POST /api/v1/users", R"({"name":"A","email":"a@b.c"})",
                                         {bearer(text), "Idempotency-Key: one"});
    };
    EXPECT_EQ(post(token("anna")).status, 201);
    auto const again = post(token("anna", {}, 301));
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.field("Idempotency-Replayed"), "true");
}

TEST_F(tokens, that_are_wrong_count_as_failures) {
    service.add_bearer(signer_, "anna");
    auto const good = token("anna");
    EXPECT_EQ(show(good).status, 200);
    auto const wrong = token("anna") + "A";
    // Expired ones were right once.
    for (int i = 0; i < 10; ++i) EXPECT_EQ(show(token("anna", {}, -1)).code(), "token_expired");
    for (std::uint32_t i = 0; i < api_fixture::failures_per_minute; ++i)
        ASSERT_EQ(show(wrong).code(), "token_invalid") << i;
    EXPECT_EQ(show(wrong).code(), "too_many_auth_failures");
    // No signature is verified for that address, and what is known passes.
    auto const earlier_count = service.tokens().count();
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(show(wrong).field("Retry-After"), "60");
        EXPECT_EQ(show(token("anna", {}, 400 + i)).code(), "too_many_auth_failures");
        EXPECT_EQ(show(good).status, 200);
    }
    EXPECT_EQ(service.tokens().count().verified, earlier_count.verified);
    EXPECT_EQ(service.tokens().count().refusals, earlier_count.refusals);
    service.peer.client = model::address::parse("203.0.113.8");
    EXPECT_EQ(show(token("anna", {}, 500)).status, 200);
}

TEST_F(tokens, are_told_to_gateways_with_what_they_may) {
    auto const record = service.add_bearer(signer_, "anna", {"users:*", "posts:read"});
    auto const response = show(scoped("anna", "users:read posts:*"), "GET /auth");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.field("X-Auth-Key-Id"), std::to_string(record.id));
    EXPECT_EQ(response.field("X-Auth-Scopes"), "users:read posts:read");
    EXPECT_EQ(show(scoped("anna", "users:read"), "GET /auth?scope=users:write").code(),
              "insufficient_scope");
    EXPECT_EQ(show(token("anna"), "GET /auth?scope=users:write").status, 200);
    EXPECT_EQ(show(token("anna", {}, -5), "GET /auth").code(), "token_expired");
}

TEST_F(tokens, are_verified_for_others) {
    service.add_bearer(signer_, "anna", {"users:*"}, {.rate_limits = {{"minute", 3, 60, 0}}});
    auto const ask = [&](std::string const& text, std::string const& more = {}) {
        return service.request("POST /api/v1/keys/verify", R"({"key":")" + text + '"' + more + '}');
    };
    auto const text = scoped("anna", "users:read");
    auto const good = ask(text, R"(,"scopes":["users:read"])");
    EXPECT_EQ(good.at("/code"), "\"VALID\"");
    EXPECT_EQ(good.at("/scopes"), R"(["users:read"])");
    EXPECT_NE(good.at("/expires_at"), "null");
    EXPECT_EQ(service.buffer.find(text), std::string::npos);
    EXPECT_EQ(ask(text, R"(,"scopes":["users:write"])").at("/code"), "\"INSUFFICIENT_SCOPE\"");
    EXPECT_EQ(ask(text, R"(,"method":"POST","path":"/api/v1/users")").at("/missing_scope"),
              "\"users:write\"");
    EXPECT_EQ(ask(text).at("/code"), "\"RATE_LIMITED\"");
    auto const late = ask(token("anna", {}, -5));
    EXPECT_EQ(late.at("/code") + late.at("/check") + late.at("/key_id"), R"("EXPIRED""state"null)");
    EXPECT_EQ(ask(token("anna") + "A").at("/code"), "\"NOT_FOUND\"");
    EXPECT_EQ(ask(token("ben")).at("/code"), "\"NOT_FOUND\"");
}

TEST_F(tokens, begin_no_session_of_a_browser) {
    service.add_bearer(signer_, "anna");
    auto const response = show(token("anna"), "POST /api/v1/session");
    EXPECT_EQ(response.code(), "key_missing");
    EXPECT_EQ(response.field("Set-Cookie"), "");
}

// Whether it is remembered or not.
TEST_F(tokens, that_were_accepted_end_with_their_time) {
    service.add_bearer(signer_, "anna");
    auto const text = token("anna", {}, 10);
    auto const verified_count = service.tokens().count().verified;
    EXPECT_EQ(show(text).status, 200);
    service.advance(8'000);
    EXPECT_EQ(show(text).status, 200);
    EXPECT_EQ(service.tokens().count().verified, verified_count + 1);
    service.advance(2'500);
    auto const late = show(text);
    EXPECT_EQ(late.status, 401);
    EXPECT_EQ(late.code(), "token_expired");
}

class token_streams : public tokens {
  protected:
    std::unique_ptr<event_stream> follow(std::int64_t seconds = 10) {
        service.request_anonymous(
            "GET /api/v1/changes", {},
            {bearer(token("anna", {}, seconds)), "Accept: text/event-stream"});
        return service.exchange.take_event_stream();
    }
    bool goes_on(event_stream& stream) {
        std::string output;
        return stream.append(service.services(), service.now, 0, output) !=
               event_stream::progress::ended;
    }

    model::key record_ = service.add_bearer(signer_, "anna");
};

TEST_F(token_streams, end_with_the_token) {
    auto const stream = follow();
    ASSERT_NE(stream, nullptr);
    EXPECT_TRUE(goes_on(*stream));
    service.advance(9'000);
    EXPECT_TRUE(goes_on(*stream));
    service.advance(1'500);
    EXPECT_FALSE(goes_on(*stream));
}

TEST_F(token_streams, end_when_the_issuers_change_or_are_removed) {
    auto const stream = follow();
    ASSERT_NE(stream, nullptr);
    EXPECT_TRUE(goes_on(*stream));
    service.accept_tokens_of(auth::token_signer("2"));
    EXPECT_FALSE(goes_on(*stream));
    service.accept_tokens_of(signer_);
    auto const other = follow();
    ASSERT_NE(other, nullptr);
    EXPECT_TRUE(goes_on(*other));
    service.accept_tokens_of(nullptr);
    EXPECT_FALSE(goes_on(*other));
    auto const of_a_key = [&] {
        service.request("GET /api/v1/changes", {}, {"Accept: text/event-stream"});
        return service.exchange.take_event_stream();
    }();
    ASSERT_NE(of_a_key, nullptr);
    EXPECT_TRUE(goes_on(*of_a_key)) << "which needs no issuer";
}

// After a reload: the key that signed the token counts for an hour more.
TEST_F(token_streams, end_with_the_former_key) {
    auto issuers = std::make_shared<auth::bearer_issuers>(*auth::token_signer("2").issuers());
    issuers->former.push_back(signer_.accepted());
    issuers->former_until = service.now.clock + 5'000;
    service.accept_tokens_of(issuers);
    auto const text = token("anna");
    EXPECT_EQ(show(text).status, 200);
    auto const stream = follow(300);
    ASSERT_NE(stream, nullptr);
    std::string output;
    stream->append(service.services(), service.now, 4096, output);
    EXPECT_LE(stream->due(), service.now.mono + 5'000'000'000);
    service.advance(4'000);
    EXPECT_TRUE(goes_on(*stream));
    EXPECT_EQ(show(text).status, 200);
    service.advance(1'500);
    EXPECT_FALSE(goes_on(*stream));
    EXPECT_EQ(show(text).code(), "token_invalid");
}

TEST_F(tokens, are_of_subjects_that_records_can_have) {
    auto const create = [&](std::string const& subject) {
        return service.request("POST /api/v1/keys", R"({"name":"a","kind":"jwt","issuer":")" +
                                                        signer_.issuer() + R"(","subject":")" +
                                                        subject + R"(","scopes":["users:read"]})");
    };
    for (std::string const& subject : {std::string(255, 's'), std::string("J\xc3\xb6rg")}) {
        EXPECT_EQ(create(subject).status, 201) << subject;
        EXPECT_EQ(show(token(subject)).status, 200) << subject;
    }
    for (std::string const& subject : {std::string(256, 's'),
                                       std::string("\xe2\x80\xae"
                                                   "anna"),
                                       std::string("a\\u2028b")}) {
        auto const response = create(subject);
        EXPECT_EQ(response.status, 422) << subject;
        EXPECT_EQ(response.faults().count("/subject"), 1u) << subject;
        EXPECT_EQ(show(token(subject)).code(), "token_invalid") << subject;
    }
}

}  // namespace
}  // namespace latchkey::api
