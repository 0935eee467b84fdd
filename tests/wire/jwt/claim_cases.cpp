// Claims: of the issuer, the audience, the subject and the scopes; dates.
#include "token_cases.hpp"

namespace latchkey::jwt {
namespace {

void add_with(case_list& list, std::initializer_list<claim_change> changes, expectation expected) {
    auto const claims = claims_with(changes);
    list.sign("the claims " + claims, "ES256", header_of("ES256"), claims, expected);
}

constexpr auto has_wrong_subject = refused_for("claim of the subject");
constexpr auto has_wrong_scopes = refused_for("claim of the scopes");
constexpr auto has_no_expiry = refused_for("no claim exp");

std::string date(std::int64_t seconds) {
    return std::to_string(seconds);
}

void add_audiences(case_list& list) {
    for (std::string_view const json :
         {R"("api")", R"("https://api.example")", R"(["api"])", R"(["other","api"])",
          R"(["api","api"])", R"(["a","b","c","d","e","https://api.example"])", R"(["\u0061pi"])"})
        add_with(list, {{"aud", json}}, is_accepted);
    for (std::string_view const json : {"",
                                        "null",
                                        R"("")",
                                        R"("other")",
                                        R"("API")",
                                        R"("api ")",
                                        R"("ap")",
                                        R"("apis")",
                                        R"("api\u0000")",
                                        R"("https://api.example/")",
                                        "[]",
                                        R"(["other"])",
                                        R"([""])",
                                        R"(["api",1])",
                                        R"(["api",null])",
                                        R"([["api"]])",
                                        R"({"api":"api"})",
                                        "true",
                                        "1",
                                        R"("api,https://api.example")",
                                        R"("api https://api.example")",
                                        R"(["api",{}])"})
        add_with(list, {{"aud", json}}, has_other_audience);
    add_with(list, {{"aud", ""}, {"azp", R"("api")"}}, has_other_audience);
}

void add_subjects(case_list& list) {
    auto const quoted = [](std::string text) { return '"' + text + '"'; };
    auto const longest = quoted(std::string(255, 's')), too_long = quoted(std::string(256, 's'));
    for (std::string_view const json :
         {R"("a")", R"("auth0|5f7c8ec7c33c6c004bbafe82")", R"("google-oauth2|1234567890")",
          R"("f:550e8400-e29b-41d4-a716-446655440000:ada")", R"("Ada Lovelace")", "\"J\xc3\xb6rg\"",
          R"("\ud83d\ude00")", R"("\\\"")"})
        add_with(list, {{"sub", json}}, is_accepted);
    add_with(list, {{"sub", longest}}, is_accepted);
    add_with(list, {{"sub", too_long}}, has_wrong_subject);
    for (std::string_view const json :
         {"", "null", R"("")", "1", "true", R"(["alice"])", "[]", R"({"sub":"alice"})",
          R"("\u0000")", R"("alice\n")", R"("alice\u0000")", R"("\u001b[2J")", R"("\u007f")",
          R"("\u0085")", R"("\u2028")", R"("\u202e")", R"("a\tb")"})
        add_with(list, {{"sub", json}}, has_wrong_subject);
}

void add_scopes(case_list& list) {
    for (std::string_view const json :
         {R"("")", R"("users:read")", R"("users:read posts:write")", R"("  a  b ")", "[]",
          R"(["users:read"])", R"(["users:read","posts:write"])",
          R"("!#$%&'()*+,-./:;<=>?@[]^_`{|}~")"})
        add_with(list, {{"scope", json}}, is_accepted);
    for (std::string_view const json :
         {"null", "1", "true", "{}", R"({"a":true})", R"(["a",1])", R"(["a",["b"]])", R"([null])",
          R"(["a b"])", R"([""])", R"(["a",""])", R"(["a "])", R"("a\"b")", R"("a\\b")",
          R"("a\tb")", R"("a\nb")", R"("a\u0000b")", "\"\xc3\xa9\"", R"(["\u007f"])"})
        add_with(list, {{"scope", json}}, has_wrong_scopes);
}

// RFC 7800 §3: such a token is not its bearer's alone, and no proof is asked for.
void add_bindings(case_list& list) {
    for (std::string_view const json :
         {R"({"jkt":"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"})",
          R"({"x5t#S256":"bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"})", R"({"kid":"a"})", "{}",
          "null", R"("a")", "[]"})
        add_with(list, {{"cnf", json}}, refused_for("claim cnf"));
    add_with(list, {{"cnf", "{}"}, {"aud", R"("other")"}}, has_other_audience);
}

}  // namespace

void add_claim_cases(case_list& list) {
    add_audiences(list);
    add_subjects(list);
    add_scopes(list);
    add_bindings(list);
}

void add_date_cases(case_list& list) {
    // The leeway is ten seconds.
    for (std::int64_t const distance : {1, 0, -1, -9})
        add_with(list, {{"exp", date(test_now + distance)}}, is_accepted);
    for (std::int64_t const distance : {-10, -11, -1'000'000})
        add_with(list, {{"exp", date(test_now + distance)}}, has_expired);
    for (std::string_view const json :
         {"0", "-0", "0.0", "1", "0e99", "1e9", "-0.0e5", "0.5", "1799999990.999", "17.9999999e8"})
        add_with(list, {{"exp", json}}, has_expired);
    for (std::string_view const json :
         {"1799999992", "1799999991.0", "1.799999991e9", "1799999991000e-3", "1.9E+9",
          "253402300799", "1800000000.00000000000000000000000000000000001",
          "1799999991.000000000000000000001"})
        add_with(list, {{"exp", json}}, is_accepted);
    for (std::string_view const json :
         {"253402300800", "253402300799.5", "1800000300000", "9223372036854775807",
          "9223372036854775808", "18446744073709551615", "18446744073709551616", "1e18", "1e19",
          "1e300", "-1", "-0.5", "-1800000300", "-1e300", "-9223372036854775808",
          "99999999999999999999999999999999999999"})
        add_with(list, {{"exp", json}}, refused_for("claim exp is not a date"));
    for (std::string_view const json :
         {"null", R"("1800000300")", "true", "[1800000300]", "{}", R"("2100-01-01T00:00:00Z")"})
        add_with(list, {{"exp", json}}, refused_for("claim exp is not a date"));
    add_with(list, {{"exp", ""}}, has_no_expiry);
    add_with(list, {{"exp", ""}, {"iat", date(test_now)}}, has_no_expiry);
    add_with(list, {{"exp", ""}, {"Exp", date(test_now + 60)}}, has_no_expiry);

    for (auto const& [name, refusal] :
         {std::pair("nbf", is_too_early), std::pair("iat", is_of_the_future)}) {
        for (std::int64_t const distance : {-1'000'000, -1, 0, 9, 10})
            add_with(list, {{name, date(test_now + distance)}}, is_accepted);
        for (std::int64_t const distance : {11, 60, 1'000'000})
            add_with(list, {{name, date(test_now + distance)}}, refusal);
        for (std::string_view const json : {"0", "0.5", "1.8e9", "1800000009.999999999999999"})
            add_with(list, {{name, json}}, is_accepted);
        for (std::string_view const json : {"1800000011.0", "1.80000002e9", "253402300799"})
            add_with(list, {{name, json}}, refusal);
        auto const malformed =
            refused_for(name == std::string_view("nbf") ? "claim nbf is not a date"
                                                        : "claim iat is not a date");
        for (std::string_view const json :
             {"null", "-1", R"("1")", "true", "[]", "1800000000000", "1e99", "-1e-9"})
            add_with(list, {{name, json}}, malformed);
    }
    // Within a second: a token must not be used before nbf, but may have been issued in this one.
    add_with(list, {{"nbf", "1800000010.000000000000000001"}}, is_too_early);
    add_with(list, {{"iat", "1800000010.999999999999999999"}}, is_accepted);
    add_with(list, {{"exp", date(test_now - 60)}, {"nbf", date(test_now + 60)}}, has_expired);
    // What is wrong comes before what is only too late.
    add_with(list, {{"exp", date(test_now - 60)}, {"aud", R"("other")"}}, has_other_audience);
    add_with(list, {{"exp", date(test_now - 60)}, {"sub", "1"}}, has_wrong_subject);
}

void add_issuer_cases(case_list& list) {
    for (std::string_view const json :
         {"", "null", R"("")", "1", R"(["https://issuer.example"])", R"("https://issuer.example/")",
          R"("HTTPS://issuer.example")", R"("https://issuer.example ")",
          R"("http://issuer.example")", R"("https://issuer.example\u0000")",
          R"("https://issuer.exampl")", R"("issuer.example")",
          R"("https://issuer.example.attacker.example")", R"({"iss":"https://issuer.example"})"})
        add_with(list, {{"iss", json}}, has_other_issuer);
    add_with(list, {{"iss", R"("https:\/\/issuer.example")"}}, is_accepted);
    // The signature of one issuer says nothing about another.
    for (auto const name : algorithm_list)
        list.sign("the keys of another issuer, " + std::string(name), name, header_of(name),
                  claims_with({{"iss", R"("https://pair.example")"}}), has_unknown_key_id);
    auto const header = R"({"alg":"ES256","typ":"at+jwt"})";
    auto const iss = R"("https://other.example")";
    auto const add = [&](std::initializer_list<claim_change> changes, expectation expected) {
        auto const claims = claims_with(changes);
        list.sign("the claims " + claims, "ES256", header, claims, expected);
    };
    add({{"iss", iss}, {"azp", R"("client")"}}, is_accepted);
    add({{"iss", iss}}, has_wrong_subject);
    add({{"iss", iss}, {"azp", "null"}}, has_wrong_subject);
    add({{"iss", iss}, {"azp", R"("client")"}, {"sub", ""}}, is_accepted);
    add({{"iss", iss}, {"azp", R"("client")"}, {"aud", R"("https://api.example")"}},
        has_other_audience);
    add({{"iss", iss}, {"azp", R"("client")"}, {"scp", "1"}}, has_wrong_scopes);
    add({{"iss", iss}, {"azp", R"("client")"}, {"scope", "1"}}, is_accepted);
    // The last issuer has no leeway.
    auto const pair = R"("https://pair.example")";
    for (auto const& [distance, expected] :
         {std::pair(1, is_accepted), std::pair(0, has_expired), std::pair(-1, has_expired)}) {
        auto const claims = claims_with({{"iss", pair}, {"exp", date(test_now + distance)}});
        list.sign("without leeway, exp " + std::to_string(distance), "ES256",
                  R"({"alg":"ES256","kid":"first"})", claims, expected);
    }
    for (auto const& [name, refusal] :
         {std::pair("nbf", is_too_early), std::pair("iat", is_of_the_future)})
        for (int const distance : {0, 1}) {
            auto const claims = claims_with({{"iss", pair}, {name, date(test_now + distance)}});
            list.sign(std::string("without leeway, ") + name + ' ' + std::to_string(distance),
                      "ES256", R"({"alg":"ES256","kid":"first"})", claims,
                      distance == 0 ? is_accepted : refusal);
        }
}

}  // namespace latchkey::jwt
