// Tokens with the verdict that each must get, in the kinds that collections of attacks on JWS and
// JWT have. All are signed, and where the signature is not what is wrong it is right, so that the
// one fault is the only reason to refuse.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "signing_key.hpp"
#include "wire/jwt/verify.hpp"

namespace latchkey::jwt {

inline constexpr std::int64_t test_now = 1'800'000'000;
inline constexpr std::int64_t test_leeway = 10;
inline constexpr std::string_view algorithm_list[] = {"RS256", "RS384", "RS512", "PS256", "PS384",
                                                      "PS512", "ES256", "ES384", "EdDSA"};

// "https://issuer.example": a key for each algorithm, whose `kid` is its name; all RSA keys are the
//     same key pair, so that only the algorithm distinguishes them
// "https://other.example": one ES256 key without `kid`; typ at+jwt, subject azp, scopes scp
// "https://pair.example": two ES256 keys, "first" and "second"; no leeway
// "https://rs256.example": the keys of the first, of which RS256 alone is allowed
std::vector<issuer> test_issuers();

// What a case must get: accepted, or a refusal whose detail has these words.
struct expectation {
    bool accepted = false;
    refusal_reason reason = refusal_reason::invalid;
    std::string_view words;
};
constexpr expectation refused_for(std::string_view words) {
    return {.words = words};
}

inline constexpr expectation is_accepted{.accepted = true};
inline constexpr expectation has_expired{.reason = refusal_reason::expired, .words = "expired"};
inline constexpr expectation is_too_early{.reason = refusal_reason::not_yet_valid, .words = "nbf"};
inline constexpr expectation is_of_the_future{.reason = refusal_reason::not_yet_valid,
                                              .words = "iat"};
inline constexpr auto has_other_parts = refused_for("three parts");
inline constexpr auto has_other_encoding = refused_for("base64url");
inline constexpr auto has_no_object_as_header = refused_for("header is not a JSON object");
inline constexpr auto has_no_object_as_claims = refused_for("claims are not a JSON object");
inline constexpr auto has_a_deep_header = refused_for("header is nested deeper than 8 levels");
inline constexpr auto has_deep_claims = refused_for("claims are nested deeper than 8 levels");
inline constexpr auto has_a_large_header = refused_for("header has more than 64 members");
inline constexpr auto has_large_claims = refused_for("more than 256 claims");
inline constexpr auto has_twins_in_its_header = refused_for("members of the token's header have");
inline constexpr auto has_twins_in_its_claims = refused_for("Two claims, or members of one, have");
inline constexpr auto has_an_extension = refused_for("crit, b64 or zip");
inline constexpr auto has_no_algorithm = refused_for("no member alg");
inline constexpr auto has_unknown_algorithm = refused_for("not an algorithm");
inline constexpr auto has_other_algorithm = refused_for("not that of the issuer's key");
inline constexpr auto has_malformed_key_id = refused_for("kid is not a string");
inline constexpr auto has_unknown_key_id = refused_for("No key of the issuer has");
inline constexpr auto has_no_key = refused_for("not exactly one key");
inline constexpr auto has_wrong_signature = refused_for("signature does not fit");
inline constexpr auto has_other_type = refused_for("typ is not that");
inline constexpr auto has_other_issuer = refused_for("not of an issuer");
inline constexpr auto has_other_audience = refused_for("another audience");

struct token_case {
    std::string name;
    std::string token;
    expectation expected;
};

class case_list {
  public:
    void add(std::string name, std::string token, expectation expected) {
        cases_.push_back({std::move(name), std::move(token), expected});
    }
    // Signed by the key of the algorithm.
    void sign(std::string name, std::string_view algorithm_name, std::string_view header,
              std::string_view payload, expectation expected) {
        add(std::move(name), signer_of(algorithm_name).token(algorithm_name, header, payload),
            expected);
    }
    std::vector<token_case> const& cases() const { return cases_; }

  private:
    std::vector<token_case> cases_;
};

// {"alg":"RS256","kid":"RS256" and further members}
std::string header_of(std::string_view algorithm_name, std::string_view members = {});
// Claims of the first issuer that are accepted, but for these: a name and a value of JSON, which is
// empty where the claim is to be missing.
using claim_change = std::pair<std::string_view, std::string_view>;
std::string claims_with(std::initializer_list<claim_change> changes = {});

void add_encoding_cases(case_list& list);
void add_algorithm_cases(case_list& list);
void add_signature_cases(case_list& list);
void add_header_cases(case_list& list);
void add_json_cases(case_list& list);
void add_claim_cases(case_list& list);
void add_date_cases(case_list& list);
void add_issuer_cases(case_list& list);

}  // namespace latchkey::jwt
