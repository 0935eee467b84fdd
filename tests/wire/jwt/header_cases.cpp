// Members of the header: extensions, key ids, types, and keys that a token would bring along.
#include "token_cases.hpp"

namespace latchkey::jwt {
namespace {

void add_extension_cases(case_list& list) {
    for (std::string_view const members :
         {R"("crit":["exp"])", R"("crit":["exp"],"exp":1900000000)", R"("crit":[])",
          R"("crit":null)", R"("crit":"exp")", R"("crit":["alg"])", R"("crit":["b64"],"b64":true)",
          R"("crit":["b64"],"b64":false)", R"("b64":true)", R"("b64":false)", R"("zip":"DEF")",
          R"("zip":null)",
          R"("crit":["http://example.com/UNDEFINED"],)"
          R"("http://example.com/UNDEFINED":true)",
          R"("\u0063rit":["exp"])"})
        list.sign("the extension " + std::string(members), "ES256",
                  header_of("ES256", ',' + std::string(members)), claims_with(), has_an_extension);
    // Unknown members that claim nothing are ignored (RFC 7515 §4).
    for (std::string_view const members :
         {R"("cty":"example")", R"("CRIT":["exp"])", R"("exp":1)", R"("iss":"somebody")",
          R"("http://example.com/UNDEFINED":true)", R"("nonce":{"a":[1,2,{}]})", R"("":"")"})
        list.sign("the member " + std::string(members), "ES256",
                  header_of("ES256", ',' + std::string(members)), claims_with(), is_accepted);
}

// Where a token says its key is: never fetched, never used, so no reason to refuse it either.
void add_key_location_cases(case_list& list) {
    for (std::string_view const members :
         {R"("jku":"https://attacker.example/jwks.json")", R"("jku":"file:///etc/passwd")",
          R"("jku":17)", R"("x5u":"https://attacker.example/chain.pem")", R"("x5c":["MIIB"])",
          R"("x5c":"")", R"("jwk":{})", R"("jwk":{"kty":"oct","k":"AAAA"})", R"("x5t":"AAAA")",
          R"("x5t#S256":"AAAA")"}) {
        auto const header = header_of("RS256", ',' + std::string(members));
        list.sign("a key location that is not used: " + std::string(members), "RS256", header,
                  claims_with(), is_accepted);
        list.add("a key location and no signature: " + std::string(members),
                 base64url(header) + '.' + base64url(claims_with()) + '.', has_wrong_signature);
    }
}

std::string header_with_id(std::string_view json) {
    return R"({"alg":"ES256","kid":)" + std::string(json) + '}';
}

void add_key_id_cases(case_list& list) {
    // Strings that are dangerous elsewhere: here they are compared.
    for (std::string_view const text : {"",
                                        " ",
                                        "es256",
                                        "ES256 ",
                                        " ES256",
                                        "ES256\\u0000",
                                        "ES25",
                                        "ES2566",
                                        "../../../../etc/passwd",
                                        "/dev/null",
                                        "..\\\\..\\\\windows",
                                        "' OR '1'='1",
                                        "x' UNION SELECT 'key",
                                        "|/usr/bin/id",
                                        "$(id)",
                                        "`id`",
                                        "%s%s%s%n",
                                        "%00",
                                        "https://attacker.example/key",
                                        "\\u0000",
                                        "\\ud83d\\udd11",
                                        "\xc3\xa9",
                                        "\\n",
                                        "null",
                                        "0",
                                        "*",
                                        "ES256,RS256",
                                        "{}",
                                        "\\u202eES256"})
        list.sign("the kid " + std::string(text), "ES256",
                  header_with_id('"' + std::string(text) + '"'), claims_with(), has_unknown_key_id);
    list.sign("a kid of 256 bytes", "ES256", header_with_id('"' + std::string(256, 'k') + '"'),
              claims_with(), has_unknown_key_id);
    list.sign("a kid of 257 bytes", "ES256", header_with_id('"' + std::string(257, 'k') + '"'),
              claims_with(), has_malformed_key_id);
    list.sign("a kid of 4096 bytes", "ES256", header_with_id('"' + std::string(4096, '/') + '"'),
              claims_with(), has_malformed_key_id);
    for (std::string_view const json :
         {"null", "1", "true", "[\"ES256\"]", "{\"kid\":\"ES256\"}", "256.0"})
        list.sign("a kid that is " + std::string(json), "ES256", header_with_id(json),
                  claims_with(), has_malformed_key_id);
    list.sign("a kid with escapes", "ES256", header_with_id(R"("\u0045S256")"), claims_with(),
              is_accepted);
    // Without `kid` exactly one key of the algorithm decides.
    for (auto const name : algorithm_list)
        list.sign("no kid, " + std::string(name), name, R"({"alg":")" + std::string(name) + "\"}",
                  claims_with(), is_accepted);
    list.sign("no kid, and two keys that fit", "ES256", R"({"alg":"ES256"})",
              claims_with({{"iss", R"("https://pair.example")"}}), has_no_key);
    list.sign("no kid, and no key that fits", "RS256", R"({"alg":"RS256"})",
              claims_with({{"iss", R"("https://pair.example")"}}), has_no_key);
    list.sign("the kid of the right one of two keys", "ES256", R"({"alg":"ES256","kid":"first"})",
              claims_with({{"iss", R"("https://pair.example")"}}), is_accepted);
    list.sign("the kid of the other one of two keys", "ES256", R"({"alg":"ES256","kid":"second"})",
              claims_with({{"iss", R"("https://pair.example")"}}), has_wrong_signature);
    list.sign("the kid of another issuer", "ES256", header_of("ES256"),
              claims_with({{"iss", R"("https://pair.example")"}}), has_unknown_key_id);
    list.sign("a kid, and the only key has none", "ES256",
              R"({"alg":"ES256","kid":"ES256","typ":"at+jwt"})",
              claims_with({{"iss", R"("https://other.example")"}}), has_unknown_key_id);
}

std::string header_with_type(std::string_view json) {
    return header_of("ES256", R"(,"typ":)" + std::string(json));
}

void add_type_cases(case_list& list) {
    for (std::string_view const json :
         {R"("JWT")", R"("jwt")", R"("application/jwt")", R"("APPLICATION/JWT")", R"("at+jwt")",
          R"("AT+JWT")", R"("application/at+jwt")", R"("J\u0057T")"})
        list.sign("the typ " + std::string(json), "ES256", header_with_type(json), claims_with(),
                  is_accepted);
    // Tokens for another purpose: of log-outs, proofs of possession, events, requests, and so on.
    for (std::string_view const json : {R"("")",
                                        R"(" ")",
                                        R"("JWT ")",
                                        R"("JOSE")",
                                        R"("JOSE+JSON")",
                                        R"("logout+jwt")",
                                        R"("dpop+jwt")",
                                        R"("secevent+jwt")",
                                        R"("oauth-authz-req+jwt")",
                                        R"("id_token+jwt")",
                                        R"("entity-statement+jwt")",
                                        R"("token-introspection+jwt")",
                                        R"("application/")",
                                        R"("application/application/jwt")",
                                        R"("text/jwt")",
                                        R"("xat+jwt")",
                                        R"("at+jwtx")",
                                        R"("at jwt")",
                                        R"("Bearer")",
                                        R"("ID")",
                                        R"("Refresh")"})
        list.sign("the typ " + std::string(json), "ES256", header_with_type(json), claims_with(),
                  has_other_type);
    for (std::string_view const json : {"null", "1", "[\"JWT\"]", "{}", "false"})
        list.sign("the typ " + std::string(json), "ES256", header_with_type(json), claims_with(),
                  refused_for("typ is not a string"));
    // Where at+jwt is demanded (RFC 9068 §2.1).
    auto const claims =
        claims_with({{"iss", R"("https://other.example")"}, {"azp", R"("client")"}});
    auto const add = [&](std::string_view members, expectation expected) {
        list.sign("at+jwt is demanded: " + std::string(members), "ES256",
                  R"({"alg":"ES256")" + std::string(members) + '}', claims, expected);
    };
    add("", has_other_type);
    for (std::string_view const type : {"JWT", "application/jwt", "", "jwt", "at", "id+jwt"})
        add(R"(,"typ":")" + std::string(type) + '"', has_other_type);
    for (std::string_view const type :
         {"at+jwt", "application/at+jwt", "At+Jwt", "Application/at+JWT"})
        add(R"(,"typ":")" + std::string(type) + '"', is_accepted);
}

void add_algorithm_member_cases(case_list& list) {
    for (std::string_view const header :
         {R"({})", R"({"kid":"ES256"})", R"({"alg":null,"kid":"ES256"})",
          R"({"alg":["ES256"],"kid":"ES256"})", R"({"alg":1,"kid":"ES256"})",
          R"({"alg":{"ES256":true},"kid":"ES256"})", R"({"Alg":"ES256","kid":"ES256"})",
          R"({"ALG":"ES256","kid":"ES256"})", R"({"alg ":"ES256","kid":"ES256"})",
          R"({"header":{"alg":"ES256"},"kid":"ES256"})", R"({"alg":true,"kid":"ES256"})"})
        list.sign("the header " + std::string(header), "ES256", header, claims_with(),
                  has_no_algorithm);
}

}  // namespace

void add_header_cases(case_list& list) {
    add_extension_cases(list);
    add_key_location_cases(list);
    add_key_id_cases(list);
    add_type_cases(list);
    add_algorithm_member_cases(list);
}

}  // namespace latchkey::jwt
