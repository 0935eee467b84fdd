// Every case of the tables, and what an accepted token yields.
#include <gtest/gtest.h>

#include <set>

#include "allocations.hpp"
#include "token_cases.hpp"
#include "wire/jwt/verify.hpp"

namespace latchkey::jwt {
namespace {

// Made once, since signing takes most of the time.
std::vector<token_case> const& all_cases() {
    static auto const list = [] {
        case_list cases;
        add_encoding_cases(cases);
        add_algorithm_cases(cases);
        add_signature_cases(cases);
        add_header_cases(cases);
        add_json_cases(cases);
        add_claim_cases(cases);
        add_date_cases(cases);
        add_issuer_cases(cases);
        return cases;
    }();
    return list.cases();
}

// What differs from the expectation; empty if nothing does.
std::string difference(expectation const& expected, verification const& actual) {
    if (expected.accepted) return actual ? "" : "refused: " + std::string(actual.error().detail);
    if (actual) return "accepted";
    auto const& [reason, detail] = actual.error();
    if (reason == expected.reason && detail.find(expected.words) != detail.npos) return "";
    return "refused for another reason: " + std::string(detail);
}

TEST(jwt_verify, judges_every_case_of_the_tables) {
    auto const issuers = test_issuers();
    std::size_t accepted = 0, refused_tokens = 0;
    std::set<std::string> names;
    for (auto const& [name, token, expected] : all_cases()) {
        auto const actual = verify(token, issuers, test_now);
        EXPECT_EQ(difference(expected, actual), "") << name;
        EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
        ++(expected.accepted ? accepted : refused_tokens);
    }
    EXPECT_EQ(accepted, 153u);
    EXPECT_EQ(refused_tokens, 980u);
}

// Of claims that the first issuer accepts.
verified_token accepted_token(std::vector<issuer> const& issuers,
                              std::initializer_list<claim_change> changes) {
    auto const token = p256_signer().token("ES256", header_of("ES256"), claims_with(changes));
    auto verification = verify(token, issuers, test_now);
    if (verification) return std::move(*verification);
    ADD_FAILURE() << verification.error().detail;
    return {};
}

TEST(jwt_verify, tells_issuer_and_subject) {
    auto const issuers = test_issuers();
    auto token = accepted_token(issuers, {{"sub", R"("auth0|\u0061da")"}});
    EXPECT_EQ(token.signer, &issuers[0]);
    EXPECT_EQ(token.subject, "auth0|ada");
    auto const other =
        verify(p256_signer().token("ES256", R"({"alg":"ES256","typ":"at+jwt"})",
                                   claims_with({{"iss", R"("https://other.example")"},
                                                {"azp", R"("client")"},
                                                {"scp", R"(["a","b"])"},
                                                {"scope", R"("c")"}})),
               issuers, test_now);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->signer, &issuers[1]);
    EXPECT_EQ(other->subject, "client");
    EXPECT_EQ(other->scopes, "a b");
}

TEST(jwt_verify, joins_scopes_by_single_spaces) {
    auto const issuers = test_issuers();
    auto const scopes = [&](std::string_view json) {
        return accepted_token(issuers, {{"scope", json}}).scopes;
    };
    EXPECT_EQ(scopes(""), std::nullopt);
    EXPECT_EQ(scopes(R"("")"), "");
    EXPECT_EQ(scopes(R"("  ")"), "");
    EXPECT_EQ(scopes("[]"), "");
    EXPECT_EQ(scopes(R"("users:read")"), "users:read");
    EXPECT_EQ(scopes(R"(" users:read   posts:write ")"), "users:read posts:write");
    EXPECT_EQ(scopes(R"(["users:read","posts:write","users:read"])"),
              "users:read posts:write users:read");
}

// An issuer may write scopes into tokens that mean nothing here.
TEST(jwt_verify, reads_no_scopes_where_no_claim_is_named) {
    auto issuers = test_issuers();
    issuers[0].scope_claim.clear();
    for (std::string_view const json : {R"("users:read")", "[]", "1", "null"}) {
        EXPECT_EQ(accepted_token(issuers, {{"scope", json}}).scopes, std::nullopt) << json;
        EXPECT_EQ(accepted_token(issuers, {{"", json}}).scopes, std::nullopt) << json;
    }
}

TEST(jwt_verify, tells_when_the_token_ends) {
    auto const issuers = test_issuers();
    auto token = accepted_token(issuers, {{"exp", "1800000060.75"}});
    EXPECT_EQ(token.expires_at, 1'800'000'060);
    EXPECT_EQ(token.refused_from, 1'800'000'070);
    auto const text =
        p256_signer().token("ES256", header_of("ES256"), claims_with({{"exp", "1800000060.75"}}));
    EXPECT_TRUE(verify(text, issuers, token.refused_from - 1));
    auto const late = verify(text, issuers, token.refused_from);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().reason, refusal_reason::expired);
}

TEST(jwt_verify, judges_by_any_clock) {
    auto const issuers = test_issuers();
    auto const text = p256_signer().token(
        "ES256", header_of("ES256"), claims_with({{"nbf", "1799999000"}, {"iat", "1799999000"}}));
    auto const early = verify(text, issuers, INT64_MIN), late = verify(text, issuers, INT64_MAX);
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().reason, refusal_reason::not_yet_valid);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().reason, refusal_reason::expired);
    EXPECT_FALSE(verify(text, issuers, 0));
}

TEST(jwt_verify, refuses_all_without_issuers_or_audiences) {
    auto const text = p256_signer().token("ES256", header_of("ES256"), claims_with());
    EXPECT_FALSE(verify(text, {}, test_now));
    auto issuers = test_issuers();
    issuers[0].audiences.clear();
    auto const verification = verify(text, issuers, test_now);
    ASSERT_FALSE(verification);
    EXPECT_EQ(verification.error().detail, "The token is for another audience.");
}

TEST(jwt_verify, repeats_nothing_of_the_token) {
    auto const issuers = test_issuers();
    for (auto const& [name, token, expected] : all_cases()) {
        auto const actual = verify(token, issuers, test_now);
        if (actual) continue;
        auto const detail = actual.error().detail;
        EXPECT_TRUE(detail.ends_with('.') && detail.size() < 120) << detail;
        EXPECT_EQ(detail.find("example"), detail.npos) << detail;
    }
}

// Claims in the size that identity providers send, nested ones and an array among them.
constexpr std::string_view usual_claims =
    R"({"exp":1800000300,"iat":1800000000,"jti":"4f1c7a52-9c0e-4d0e-8f3b-0d6a7a4f9e11",)"
    R"("iss":"https://issuer.example","aud":["account","api"],"sub":"f6f9c2d1","typ":"Bearer",)"
    R"("azp":"reports","sid":"0b6e0b7e-2a51-4a8b-b1a5-6f3d7d2c0a55","acr":"1",)"
    R"("realm_access":{"roles":["offline_access","default-roles","uma_authorization"]},)"
    R"("resource_access":{"account":{"roles":["manage-account","view-profile"]}},)"
    R"("email_verified":true,"name":"Ada Lovelace","preferred_username":"ada",)"
    R"("given_name":"Ada","family_name":"Lovelace","email":"ada@example.com"})";

TEST(jwt_verify, allocates_nothing_for_usual_tokens) {
    if (!test::counts_allocations()) GTEST_SKIP();
    auto const issuers = test_issuers();
    for (auto const name : algorithm_list) {
        auto const token = signer_of(name).token(name, header_of(name), usual_claims);
        auto const before_verification = test::allocations();
        bool const accepted = verify(token, issuers, test_now).has_value();
        EXPECT_EQ(test::allocations(), before_verification) << name;
        EXPECT_TRUE(accepted);
    }
}

TEST(jwt_form, is_that_of_signed_tokens) {
    EXPECT_TRUE(looks_like_jwt(p256_signer().token("ES256", header_of("ES256"), claims_with())));
    for (std::string_view const header : {R"({"alg":"none"})", R"({ "alg":"none"})",
                                          "{\n\"alg\":1}", "{\r\n \"alg\":1}", "{\t\"a\":1}"})
        EXPECT_TRUE(looks_like_jwt(base64url(header) + ".e30.")) << header;
    EXPECT_TRUE(looks_like_jwt("eyJh.e30." + std::string(token_bytes_max, 'A')));
    EXPECT_TRUE(looks_like_jwt("eyJh" + std::string(token_bytes_max, 'A')));
}

TEST(jwt_form, begins_as_an_object_with_a_member) {
    for (std::string_view const header :
         {R"({"alg":"none"})", R"({ "a":1})", "{\n\"a\":1}", "{\r\n \"a\":1}", "{\t\"a\":1}", "{\"",
          " {\"a\":1}", "\n\r\t {\n\"a\":1}"})
        EXPECT_TRUE(begins_as_jwt(base64url(header))) << header;
    EXPECT_TRUE(begins_as_jwt("eyJ"));
    for (std::string_view const text : {"", "e", "ey", "ey.", "e.J", "e30", "ewA", "fyJ",
                                        "eA==", "EyJ", "lkey", "\xffyJ", "ICAg", "IHt7", "IGEi"})
        EXPECT_FALSE(begins_as_jwt(text)) << text;
}

TEST(jwt_form, is_not_that_of_keys_and_other_text) {
    for (std::string_view const text : {"",
                                        "e",
                                        "eyJ",
                                        "eyJ.",
                                        "eyJ..",
                                        "eyJ.e30",
                                        "eyJ.e30.sig.",
                                        "eyJ.e30.a.b",
                                        ".eyJ.e30.",
                                        "eyJ..sig",
                                        "eyJh.e30.s=",
                                        "eyJh.e30.s g",
                                        "eyJh.e3+.sig",
                                        "eyJh.e30.sig\n",
                                        "abc.def.ghi",
                                        "fyJh.e30.sig",
                                        "ewAh.e30.sig",
                                        "e30.e30.sig",
                                        "eA==.e30.sig",
                                        "e.y.J",
                                        "ey.e30.sig",
                                        "lkey0123456789012345678901234567890123456789abcd"})
        EXPECT_FALSE(looks_like_jwt(text)) << text;
    EXPECT_FALSE(looks_like_jwt(std::string(token_bytes_max + 1, 'A')));
}

}  // namespace
}  // namespace latchkey::jwt
