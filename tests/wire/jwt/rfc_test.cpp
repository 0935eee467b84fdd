// The examples of RFC 7515 (appendix A), RFC 7520 (section 4) and RFC 8037 (appendix A): keys and
// signatures that others have made. Most payloads are no claims, so the layer's JWS is asked.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "wire/jwt/jws.hpp"
#include "wire/jwt/key_set.hpp"
#include "wire/jwt/verify.hpp"

namespace latchkey::jwt {
namespace {

// RFC 7515 A.1 (HS256), A.2 (RS256), A.3 (ES256), A.5 (none).
constexpr std::string_view hs256_token =
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQo"
    "gImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOE"
    "jXk";
constexpr std::string_view rs256_modulus =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt"
    "0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSX"
    "ndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5"
    "IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
constexpr std::string_view rs256_token =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGx"
    "lLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5R"
    "Zmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrn"
    "byTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHW"
    "EsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0ig"
    "cN_IoypGlUPQGe77Rw";
constexpr std::string_view es256_token =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGx"
    "lLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8I"
    "SlSApmWQxfKTUJqPP3-Kg6NU1Q";
constexpr std::string_view unsigned_token =
    "eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl"
    "LmNvbS9pc19yb290Ijp0cnVlfQ.";
constexpr std::string_view es256_key =
    R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
    R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})";
constexpr std::string_view claims_text =
    "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";

// RFC 7520 section 4.
constexpr std::string_view cookbook_modulus =
    "n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_"
    "AJmSCpMaJMRBSFKrKb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpP"
    "e7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg"
    "_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw";
constexpr std::string_view cookbook_payload =
    "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAg"
    "b250byB0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dp"
    "bmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4";
constexpr std::string_view cookbook_text =
    "It\u2019s a dangerous business, Frodo, going out your door. You step onto the road, and if "
    "you "
    "don't keep your feet, there\u2019s no knowing where you might be swept off to.";
constexpr std::string_view cookbook_rs256_header =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9";
constexpr std::string_view cookbook_rs256_signature =
    "MRjdkly7_-oTPTS3AXP41iQIGKa80A0ZmTuV5MEaHoxnW2e5CZ5NlKtainoFmKZopdHM1O2U4mwzJdQx996ivp83"
    "xuglII7PNDi84wnB-BDkoBwA78185hX-Es4JIwmDLJK3lfWRa-XtL0RnltuYv746iYTh_qHRD68BNt1uSNCrUCTJ"
    "Dt5aAE6x8wW1Kt9eRo4QPocSadnHXFxnt8Is9UzpERV0ePPQdLuW3IS_de3xyIrDaLGdjluPxUAhb6L2aXic1U12"
    "podGU0KLUQSE_oI-ZnmKJ3F4uOZDnd6QZWJushZ41Axf_fcIe8u9ipH84ogoree7vjbU5y18kDquDg";
constexpr std::string_view cookbook_ps384_header =
    "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9";
constexpr std::string_view cookbook_ps384_signature =
    "cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6"
    "O8TTB5dDDItllVo6_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqi"
    "VJRmBqrYRXe8P_ijQ7p8Vdz0TTrxUeT3lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_"
    "jLAeQTlqRHtfa64QQSUmFAAjVKPbByi7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw";
constexpr std::string_view cookbook_es512_header =
    "eyJhbGciOiJFUzUxMiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9";
constexpr std::string_view cookbook_es512_signature =
    "AE_R_YZCChjn4791jSQCrdPZCNYqHXCTZH0-JZGYNlaAjP2kqaluUIIUnC9qvbu9Plon7KRTzoNEuT4Va2cmL1eJ"
    "AQy3mtPBu_u_sDDyYjnAMDxXPn7XrT0lw-kvAD890jl8e2puQens_IEKBpHABlsbEPX6sFY8OcGDqoRuBomu9xQ2";
constexpr std::string_view cookbook_p521_key =
    R"({"kty":"EC","kid":"bilbo.baggins@hobbiton.example","use":"sig","crv":"P-521",)"
    R"("x":"AHKZLLOsCOzz5cY97ewNUajB957y-C-U88c3v13nmGZx6sYl)"
    R"(_oJXu9A5RkTKqjqvjyekWF-7ytDyRXYgCF5cj0Kt",)"
    R"("y":"AdymlHvOiLxXkEhayXQnNCvDX4h9htZaCJN34kfmC6pV5OhQ)"
    R"(HiraVySsUdaQkAgDPrwQrJmbnX9cwlGfP-HqHZR1"})";

// RFC 8037 A.2 and A.4.
constexpr std::string_view ed25519_key =
    R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})";
constexpr std::string_view ed25519_token =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09P"
    "GcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

key_set_reading set_of(std::string_view key, algorithm_set allowed = algorithm_set::all()) {
    return read_key_set("{\"keys\":[" + std::string(key) + "]}", allowed);
}

std::string rsa_key(std::string_view modulus, std::string_view others) {
    return R"({"kty":"RSA","n":")" + std::string(modulus) + R"(","e":"AQAB")" +
           std::string(others) + "}";
}

std::string cookbook_key(std::string_view algorithm_name) {
    return rsa_key(cookbook_modulus,
                   R"(,"kid":"bilbo.baggins@hobbiton.example","use":"sig","alg":")" +
                       std::string(algorithm_name) + "\"");
}

std::string cookbook_token(std::string_view header, std::string_view signature) {
    return std::string(header) + '.' + std::string(cookbook_payload) + '.' + std::string(signature);
}

// The payload, if the token's signature is right; else the fault.
std::string verified(std::string_view token, key_set_reading const& reading) {
    if (!reading.keys) return reading.errors.front();
    compact_jws jws;
    if (auto const fault = jws.read(token); !fault.empty()) return std::string(fault);
    auto const fault = jws.verify(*reading.keys, algorithm_set::all());
    return std::string(fault.empty() ? jws.payload() : fault);
}

TEST(jws_examples, of_rfc_7515_are_verified) {
    EXPECT_EQ(verified(rs256_token, set_of(rsa_key(rs256_modulus, R"(,"alg":"RS256")"))),
              claims_text);
    EXPECT_EQ(verified(es256_token, set_of(es256_key)), claims_text);
}

TEST(jws_examples, of_rfc_7515_take_the_algorithm_that_alone_is_allowed) {
    EXPECT_EQ(verified(rs256_token, set_of(rsa_key(rs256_modulus, ""), {algorithm::rs256})),
              claims_text);
    EXPECT_EQ(verified(rs256_token, set_of(rsa_key(rs256_modulus, ""), {algorithm::ps256})),
              "The token has no kid, and not exactly one key of the issuer fits.");
}

TEST(jws_examples, of_rfc_7515_without_a_public_key_are_refused) {
    auto const keys = set_of(es256_key);
    EXPECT_EQ(verified(hs256_token, keys), "The token's alg is not an algorithm that is accepted.");
    EXPECT_EQ(verified(unsigned_token, keys),
              "The token's alg is not an algorithm that is accepted.");
}

TEST(jws_examples, of_rfc_7515_have_claims_of_a_token_without_an_audience) {
    issuer const joe{.name = "joe",
                     .audiences = {"api"},
                     .algorithms = algorithm_set::all(),
                     .keys = set_of(es256_key).keys};
    auto const verification = verify(es256_token, {&joe, 1}, 1'300'819'379);
    ASSERT_FALSE(verification);
    EXPECT_EQ(verification.error().detail, "The token is for another audience.");
}

TEST(jws_examples, of_rfc_7520_are_verified) {
    EXPECT_EQ(verified(cookbook_token(cookbook_rs256_header, cookbook_rs256_signature),
                       set_of(cookbook_key("RS256"))),
              cookbook_text);
    EXPECT_EQ(verified(cookbook_token(cookbook_ps384_header, cookbook_ps384_signature),
                       set_of(cookbook_key("PS384"))),
              cookbook_text);
}

TEST(jws_examples, of_rfc_7520_under_a_key_of_another_algorithm_are_refused) {
    constexpr std::string_view expected = "The token's alg is not that of the issuer's key.";
    EXPECT_EQ(verified(cookbook_token(cookbook_rs256_header, cookbook_rs256_signature),
                       set_of(cookbook_key("PS384"))),
              expected);
    EXPECT_EQ(verified(cookbook_token(cookbook_ps384_header, cookbook_ps384_signature),
                       set_of(cookbook_key("RS256"))),
              expected);
}

TEST(jws_examples, of_rfc_7520_over_p521_are_refused) {
    auto const reading = set_of(cookbook_p521_key);
    EXPECT_EQ(reading.keys, nullptr);
    ASSERT_EQ(reading.skipped.size(), 1u);
    EXPECT_EQ(reading.skipped.front(),
              R"(keys[0] (kid "bilbo.baggins@hobbiton.example") has the crv "P-521")");
    EXPECT_EQ(verified(cookbook_token(cookbook_es512_header, cookbook_es512_signature),
                       set_of(cookbook_key("RS256"))),
              "The token's alg is not an algorithm that is accepted.");
}

TEST(jws_examples, of_rfc_8037_are_verified) {
    EXPECT_EQ(verified(ed25519_token, set_of(ed25519_key)), "Example of Ed25519 signing");
}

}  // namespace
}  // namespace latchkey::jwt
