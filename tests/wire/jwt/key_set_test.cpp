// Key sets of issuers: which keys are taken, which are left out, and which make the whole set
// wrong, with the message for each.
#include "wire/jwt/key_set.hpp"

#include <gtest/gtest.h>
#include <openssl/curve25519.h>
#include <openssl/nid.h>

#include <algorithm>

#include "signing_key.hpp"
#include "wire/jwt/jwt_limits.hpp"
#include "wire/jwt/public_key.hpp"

namespace latchkey::jwt {
namespace {

std::string set_text(std::string_view keys) {
    return "{\"keys\":[" + std::string(keys) + "]}";
}

std::string const& ec_jwk() {
    static auto const text = p256_signer().jwk();
    return text;
}

// {"kty":"RSA","n":…,"e":…, members} with a modulus of that many bits, which is the product of
// nothing.
std::string rsa_jwk(unsigned bits, std::string_view exponent = "AQAB", bool odd = true) {
    std::string modulus((bits + 7) / 8, '\x5a');
    modulus.front() = static_cast<char>(1 << (bits - 1) % 8);
    modulus.back() = odd ? '\x5b' : '\x5a';
    return R"({"kty":"RSA","alg":"RS256","n":")" + base64url(modulus) + R"(","e":")" +
           std::string(exponent) + "\"}";
}

// The JWK with members in front.
std::string with(std::string_view members, std::string jwk) {
    return jwk.insert(1, std::string(members) + ',');
}

std::string ed25519_jwk(std::string_view x) {
    return R"({"kty":"OKP","crv":"Ed25519","x":")" + base64url(x) + "\"}";
}

std::string replaced(std::string text, std::string_view old, std::string_view fresh) {
    auto const place = text.find(old);
    if (place == text.npos) ADD_FAILURE() << text << " has no " << old;
    return text.replace(place, old.size(), fresh);
}

// `member` of the JWK with another value.
std::string with_value(std::string text, std::string_view member, std::string_view json) {
    auto const name = '"' + std::string(member) + "\":";
    auto const begin = text.find(name) + name.size();
    auto const end = text.find('"', begin + 1) + 1;
    return text.replace(begin, end - begin, json);
}

enum class fate { taken, skipped, refused };
struct key_case {
    std::string jwk;
    fate expected;
    std::string words;  // of the message
    algorithm_set allowed = algorithm_set::all();
};

std::vector<key_case> taken_keys() {
    using enum algorithm;
    auto const rsa = rsa_signer().jwk(), p384 = p384_signer().jwk(), ed = ed25519_signer().jwk();
    std::vector<key_case> cases{
        {ec_jwk(), fate::taken, ""},
        {p384, fate::taken, ""},
        {ed, fate::taken, ""},
        {rsa, fate::taken, "", {rs256}},
        {rsa, fate::taken, "", {rs384, es256, eddsa}},
        {rsa, fate::taken, "", {ps512}},
        {with(R"("alg":"ES256")", ec_jwk()), fate::taken, ""},
        {with(R"("alg":"ES384")", p384), fate::taken, ""},
        {with(R"("alg":"EdDSA")", ed), fate::taken, ""},
        {with(R"("alg":"Ed25519")", ed), fate::taken, ""},
        {with(R"("alg":"ESP256")", ec_jwk()), fate::taken, ""},
        {with(R"("alg":"ESP384")", p384), fate::taken, ""},
        {with(R"("use":"sig")", ec_jwk()), fate::taken, ""},
        {with(R"("key_ops":["verify"])", ec_jwk()), fate::taken, ""},
        {with(R"("use":"sig","key_ops":["sign","verify"])", ec_jwk()), fate::taken, ""},
        {with(R"("kid":"")", ec_jwk()), fate::taken, ""},
        {with(R"("kid":")" + std::string(256, 'k') + '"', ec_jwk()), fate::taken, ""},
        {with(R"("kid":"../../etc/passwd\u0000")", ec_jwk()), fate::taken, ""},
        {with(R"("x5c":["MIIB"],"x5t":"AAAA","x5t#S256":"AAAA","ext":true)", ec_jwk()), fate::taken,
         ""},
        {with(R"("x5u":"https://attacker.example/","unknown":{"a":[1]})", ec_jwk()), fate::taken,
         ""},
        {rsa_jwk(2048), fate::taken, ""},
        {rsa_jwk(2049), fate::taken, ""},
        {rsa_jwk(3072), fate::taken, ""},
        {rsa_jwk(4096), fate::taken, ""},
        {rsa_jwk(8192), fate::taken, ""},
        {rsa_jwk(2048, "Aw"), fate::taken, ""},
        {rsa_jwk(2048, "Af____8"), fate::taken, ""},
    };
    for (auto const name : {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
        cases.push_back(
            {rsa_signer().jwk(R"("alg":")" + std::string(name) + '"'), fate::taken, ""});
    return cases;
}

std::vector<key_case> skipped_keys() {
    using enum algorithm;
    auto const rsa = rsa_signer().jwk();
    return {
        {with(R"("use":"enc")", ec_jwk()), fate::skipped, R"(is for "enc", not for signatures)"},
        {with(R"("use":"")", ec_jwk()), fate::skipped, R"(is for "", not)"},
        {with(R"("use":"SIG")", ec_jwk()), fate::skipped, R"(is for "SIG")"},
        {with(R"("use":"a\u001b[2J")", ec_jwk()), fate::skipped, R"(is for "a\u001b[2J")"},
        {with(R"("key_ops":["sign"])", ec_jwk()), fate::skipped, "not for verifying"},
        {with(R"("key_ops":["encrypt","wrapKey"])", ec_jwk()), fate::skipped, "not for verifying"},
        {with(R"("key_ops":[])", ec_jwk()), fate::skipped, "not for verifying"},
        {with(R"("key_ops":["Verify"])", ec_jwk()), fate::skipped, "not for verifying"},
        {with(R"("use":"sig","key_ops":["encrypt"])", ec_jwk()), fate::skipped, "key_ops"},
        {with(R"("use":"enc","key_ops":["verify"])", ec_jwk()), fate::skipped, R"("enc")"},
        {R"({"kty":"AKP","alg":"ML-DSA-44","pub":"AAAA"})", fate::skipped, R"(the kty "AKP")"},
        {R"({"kty":"ec"})", fate::skipped, R"(the kty "ec")"},
        {R"({"kty":""})", fate::skipped, R"(the kty "")"},
        {R"({"kty":"EC"})", fate::skipped, R"(the crv "")"},
        {R"({"kty":"OKP","crv":"X25519","x":"AAAA"})", fate::skipped, R"(the crv "X25519")"},
        {R"({"kty":"OKP","crv":"Ed448","x":"AAAA"})", fate::skipped, R"(the crv "Ed448")"},
        {R"({"kty":"OKP","crv":"P-256","x":"AAAA"})", fate::skipped, R"(the crv "P-256")"},
        {replaced(ec_jwk(), "P-256", "secp256k1"), fate::skipped, R"(the crv "secp256k1")"},
        {replaced(ec_jwk(), "P-256", "p-256"), fate::skipped, R"(the crv "p-256")"},
        {replaced(ec_jwk(), "P-256", "Ed25519"), fate::skipped, R"(the crv "Ed25519")"},
        {signing_key::ec(NID_secp521r1).jwk(), fate::skipped, R"(the crv "P-521")"},
        {rsa_signer().jwk(R"("alg":"RSA-OAEP")"), fate::skipped, R"(the alg "RSA-OAEP")"},
        {rsa_signer().jwk(R"("alg":"RS1")"), fate::skipped, R"(the alg "RS1")"},
        {rsa_signer().jwk(R"("alg":"none")"), fate::skipped, R"(the alg "none")"},
        {rsa_signer().jwk(R"("alg":"HS256")"), fate::skipped, R"(the alg "HS256")"},
        {rsa_signer().jwk(R"("alg":"rs256")"), fate::skipped, R"(the alg "rs256")"},
        {rsa, fate::skipped, "no RSA algorithm is allowed", {es256, eddsa}},
        {ec_jwk(), fate::skipped, "is for ES256, which is not among", {rs256, es384}},
        {ec_jwk(), fate::skipped, "is for ES256, which is not among", {}},
        {p384_signer().jwk(), fate::skipped, "is for ES384", {es256}},
        {ed25519_signer().jwk(), fate::skipped, "is for EdDSA", {es256}},
        {rsa_signer().jwk(R"("alg":"PS256")"), fate::skipped, "is for PS256", {rs256}},
    };
}

std::vector<key_case> refused_keys() {
    using enum algorithm;
    auto const rsa = rsa_signer().jwk(R"("alg":"RS256")"), ed = ed25519_signer().jwk(),
               p384 = p384_signer().jwk();
    auto const other = signing_key::ec(NID_X9_62_prime256v1).jwk();
    auto const x_of = [](std::string const& jwk) {
        auto const begin = jwk.find("\"x\":\"") + 5;
        return jwk.substr(begin, 43);
    };
    std::vector<key_case> cases{
        {"null", fate::refused, "is not an object"},
        {"17", fate::refused, "is not an object"},
        {"\"key\"", fate::refused, "is not an object"},
        {"[]", fate::refused, "is not an object"},
        {"{}", fate::refused, "has no kty"},
        {R"({"kid":"a"})", fate::refused, R"(keys[0] (kid "a") has no kty)"},
        // Secrets.
        {p256_signer().private_jwk(), fate::refused, "is a private key, since it has the member d"},
        {rsa_signer().private_jwk(), fate::refused, "is a private key, since it has the member d"},
        {ed25519_signer().private_jwk(), fate::refused, "is a private key"},
        {with(R"("use":"enc")", rsa_signer().private_jwk()), fate::refused, "is a private key"},
        {R"({"kty":"oct","k":"AAAA"})", fate::refused, "is a symmetric key"},
        {R"({"kty":"oct"})", fate::refused, "is a symmetric key"},
        {with(R"("k":"AAAA")", ec_jwk()), fate::refused, "is a symmetric key"},
        {R"({"kty":"AKP","alg":"ML-DSA-44","d":"AAAA"})", fate::refused, "is a private key"},
        // Sizes of RSA.
        {signing_key::rsa(1024).jwk(R"("alg":"RS256")"), fate::refused, "a modulus of 1024 bits"},
        {rsa_jwk(512), fate::refused, "a modulus of 512 bits, not 2048 to 8192"},
        {rsa_jwk(2047), fate::refused, "a modulus of 2047 bits"},
        {rsa_jwk(8193), fate::refused, "a modulus of 8193 bits"},
        {rsa_jwk(16384), fate::refused, "a modulus of 16384 bits"},
        {rsa_jwk(2048, "AQAB", false), fate::refused, "an even modulus"},
        {rsa_jwk(2048, "AQ"), fate::refused, "an exponent"},
        {rsa_jwk(2048, "Ag"), fate::refused, "an exponent"},
        {rsa_jwk(2048, "AQAA"), fate::refused, "an exponent"},
        {rsa_jwk(2048, "A_____8"), fate::refused, "an exponent"},
        {rsa_jwk(2048, "AAEAAQ"), fate::refused, "leading zeros"},
        {rsa_jwk(2048, "AA"), fate::refused, "leading zeros"},
        {rsa_jwk(2048, ""), fate::refused, "has no e in base64url"},
        {rsa_jwk(2048, "AQAB="), fate::refused, "has no e in base64url"},
        {rsa_jwk(2048, "AQA B"), fate::refused, "has no e in base64url"},
        {with_value(rsa, "n", R"("AA")"), fate::refused, "leading zeros"},
        {with_value(rsa, "n", R"("")"), fate::refused, "has no n in base64url"},
        {with_value(rsa, "n", R"("+/+/")"), fate::refused, "has no n in base64url"},
        {R"({"kty":"RSA","alg":"RS256","e":"AQAB"})", fate::refused, "has no n"},
        {R"({"kty":"RSA","alg":"RS256","n":17,"e":"AQAB"})", fate::refused,
         "a member n that is not a string"},
        // Points.
        {with_value(ec_jwk(), "y", '"' + x_of(other) + '"'), fate::refused, "not a point"},
        {with_value(ec_jwk(), "x", R"("AAAA")"), fate::refused, "not of 32 bytes"},
        {with_value(ec_jwk(), "x", '"' + base64url(std::string(32, '\0')) + '"'), fate::refused,
         "not a point"},
        {with_value(ec_jwk(), "x", '"' + base64url(std::string(32, '\xff')) + '"'), fate::refused,
         "not a point"},
        {with_value(ec_jwk(), "x", '"' + base64url(std::string(33, '\0')) + '"'), fate::refused,
         "not of 32 bytes"},
        {replaced(ec_jwk(), "P-256", "P-384"), fate::refused, "not of 48 bytes"},
        {replaced(p384, "P-384", "P-256"), fate::refused, "not of 32 bytes"},
        {R"({"kty":"EC","crv":"P-256"})", fate::refused, "has no x"},
        {replaced(ec_jwk(), "\"y\"", "\"z\""), fate::refused, "has no y"},
        {with_value(ed, "x", R"("AAAA")"), fate::refused, "an x that is not of 32 bytes"},
        {R"({"kty":"OKP","crv":"Ed25519"})", fate::refused, "has no x"},
        {ed25519_jwk(std::string(32, '\0')), fate::refused, "of small order"},
        {ed25519_jwk(std::string(31, '\0') + '\x80'), fate::refused, "of small order"},
        {ed25519_jwk('\x01' + std::string(31, '\0')), fate::refused, "of small order"},
        {ed25519_jwk('\xec' + std::string(30, '\xff') + '\x7f'), fate::refused, "of small order"},
        {ed25519_jwk('\xee' + std::string(31, '\xff')), fate::refused, "of small order"},
        // Algorithms that do not fit.
        {rsa_signer().jwk(), fate::refused, "has no alg, and more than one RSA algorithm"},
        {rsa_signer().jwk(), fate::refused, "has no alg", {rs256, ps256}},
        {rsa_signer().jwk(R"("alg":"ES256")"), fate::refused, R"("ES256", which does not fit)"},
        {rsa_signer().jwk(R"("alg":"EdDSA")"), fate::refused, R"("EdDSA", which does not fit)"},
        {with(R"("alg":"RS256")", ec_jwk()), fate::refused, R"("RS256", which does not fit)"},
        {with(R"("alg":"ES384")", ec_jwk()), fate::refused, R"("ES384", which does not fit)"},
        {with(R"("alg":"ESP384")", ec_jwk()), fate::refused, R"("ESP384", which does not fit)"},
        {with(R"("alg":"Ed448")", ed), fate::refused, R"("Ed448", which does not fit)"},
        {with(R"("alg":"ES256")", p384), fate::refused, R"("ES256", which does not fit)"},
        {with(R"("alg":"HS256")", ec_jwk()), fate::refused, R"("HS256", which does not fit)"},
        {with(R"("alg":"none")", ed), fate::refused, R"("none", which does not fit)"},
        {with(R"("alg":"ES256")", ed), fate::refused, R"("ES256", which does not fit)"},
        // Purposes that are malformed.
        {with(R"("key_ops":"verify")", ec_jwk()), fate::refused, "key_ops that is not an array"},
        {with(R"("key_ops":["verify",1])", ec_jwk()), fate::refused, "key_ops that is not"},
        {with(R"("key_ops":{})", ec_jwk()), fate::refused, "key_ops that is not an array"},
        {with(R"("key_ops":["verify","verify"])", ec_jwk()), fate::refused, "in key_ops twice"},
        {with(R"("kid":")" + std::string(257, 'k') + '"', ec_jwk()), fate::refused,
         "more than 256 bytes"},
    };
    for (std::string const name : {"kty", "kid", "use", "alg", "crv", "x", "y"})
        for (std::string const json : {"null", "1", "[\"a\"]"})
            cases.push_back({R"({")" + name + "\":" + json + "}", fate::refused,
                             "a member " + name + " that is not a string"});
    for (std::string const members :
         {R"("kty":"EC")", R"("crv":"P-256")", R"("kid":"a","kid":"a")", R"("kid":"a","kid":"b")",
          R"("a":{"b":1,"b":2})", R"("a":1,"\u0061":1)"})
        cases.push_back({with(members, ec_jwk()), fate::refused, "two members of the same name"});
    for (std::string const member : {"p", "q", "dp", "dq", "qi", "oth"})
        cases.push_back({with('"' + member + R"(":"AA")", rsa), fate::refused,
                         "is a private key, since it has the member " + member});
    return cases;
}

key_set_reading read_alone(key_case const& each) {
    return read_key_set(set_text(each.jwk), each.allowed);
}
// What cannot be used ends no set: the keys beside it count (RFC 7517 §5).
key_set_reading read_beside_another(key_case const& each) {
    auto allowed = each.allowed;
    allowed.insert(algorithm::eddsa);
    auto const other = ed25519_signer().jwk(R"("kid":"another key")");
    return read_key_set(set_text(each.jwk + ',' + other), allowed);
}

void judge(key_case const& each) {
    bool const is_taken = each.expected == fate::taken, is_wrong = each.expected == fate::refused;
    auto const reading = is_wrong ? read_beside_another(each) : read_alone(each);
    ASSERT_EQ(reading.keys != nullptr, is_taken || is_wrong) << each.jwk;
    EXPECT_EQ(reading.errors.empty(), is_taken || is_wrong) << each.jwk;
    if (reading.keys != nullptr) EXPECT_EQ(reading.keys->size(), 1u) << each.jwk;
    ASSERT_EQ(reading.skipped.size(), is_taken ? 0u : 1u) << each.jwk;
    if (is_taken) return;
    auto const& line = reading.skipped[0];
    EXPECT_TRUE(line.starts_with("keys[0] ")) << line;
    EXPECT_NE(line.find(each.words), std::string::npos) << line << "\n" << each.jwk;
}

TEST(jwt_key_set, judges_every_key_of_the_tables) {
    std::size_t count = 0;
    for (auto const& list : {taken_keys(), skipped_keys(), refused_keys()})
        for (auto const& each : list) {
            judge(each);
            ++count;
        }
    EXPECT_EQ(count, 165u);
}

TEST(jwt_key_set, names_every_wrong_key_by_index_and_id) {
    auto const reading = read_key_set(
        set_text(ec_jwk() + R"(,{"kty":"oct","kid":"a\u001b"},{"kty":"X","kid":"b"},{},17)"),
        algorithm_set::all());
    ASSERT_NE(reading.keys, nullptr);
    EXPECT_EQ(reading.keys->size(), 1u);
    EXPECT_TRUE(reading.errors.empty());
    ASSERT_EQ(reading.skipped.size(), 4u);
    EXPECT_TRUE(reading.skipped[0].starts_with(R"(keys[1] (kid "a\u001b") is a symmetric key)"))
        << reading.skipped[0];
    EXPECT_EQ(reading.skipped[1], R"(keys[2] (kid "b") has the kty "X")");
    EXPECT_EQ(reading.skipped[2], "keys[3] has no kty");
    EXPECT_EQ(reading.skipped[3], "keys[4] is not an object");
}

TEST(jwt_key_set, takes_no_id_twice_for_one_algorithm) {
    auto const first = p256_signer().jwk(R"("kid":"a")"),
               second = signing_key::ec(NID_X9_62_prime256v1).jwk(R"("kid":"a")"),
               other = rsa_signer().jwk(R"("kid":"a","alg":"RS256")");
    auto const reading =
        read_key_set(set_text(first + ',' + second + ',' + other), algorithm_set::all());
    ASSERT_NE(reading.keys, nullptr);
    ASSERT_EQ(reading.skipped.size(), 1u);
    EXPECT_EQ(reading.skipped[0],
              R"(keys[1] (kid "a") has the kid and the algorithm of an earlier key)");
    // RFC 7517 §4.5: keys of different types may have one kid; the token's algorithm chooses.
    EXPECT_EQ(reading.keys->size(), 2u);
    for (auto const each : {algorithm::es256, algorithm::rs256})
        EXPECT_EQ(reading.keys->find("a", each)->own_algorithm(), each);
    EXPECT_NE(reading.keys->find("a", algorithm::es384), nullptr);
}

TEST(jwt_key_set, finds_keys_by_id_or_as_the_only_one) {
    auto const reading = read_key_set(
        set_text(p256_signer().jwk(R"("kid":"a")") + ',' + p384_signer().jwk(R"("kid":"b")") + ',' +
                 signing_key::ec(NID_secp384r1).jwk()),
        algorithm_set::all());
    ASSERT_NE(reading.keys, nullptr);
    auto const& keys = *reading.keys;
    EXPECT_EQ(keys.size(), 3u);
    ASSERT_NE(keys.find("a", algorithm::es256), nullptr);
    EXPECT_EQ(keys.find("a", algorithm::es256)->own_algorithm(), algorithm::es256);
    ASSERT_NE(keys.find("b", algorithm::es384), nullptr);
    EXPECT_EQ(keys.find("b", algorithm::es384)->own_algorithm(), algorithm::es384);
    EXPECT_EQ(keys.find("", algorithm::es256), nullptr);
    EXPECT_EQ(keys.find("A", algorithm::es256), nullptr);
    EXPECT_EQ(keys.find_only(algorithm::es256), keys.find("a", algorithm::es256));
    EXPECT_EQ(keys.find_only(algorithm::es384), nullptr);
    EXPECT_EQ(keys.find_only(algorithm::rs256), nullptr);
}

TEST(jwt_key_set, is_a_document_of_one_form) {
    auto const error = [](std::string_view text) {
        auto const reading = read_key_set(text, algorithm_set::all());
        EXPECT_EQ(reading.keys, nullptr) << text;
        return reading.errors.empty() ? "no error" : reading.errors.front();
    };
    constexpr std::string_view no_object = "the document is not a JSON object";
    for (std::string_view const text :
         {"", " ", "null", "[]", "{", "{\"keys\":[}", "{\"keys\":[]}}", "\xef\xbb\xbf{\"keys\":[]}",
          "{\"keys\":[],}", "-----BEGIN PUBLIC KEY-----", "{\"keys\":[\"\xff\"]}"})
        EXPECT_EQ(error(text), no_object) << text;
    EXPECT_EQ(error("[" + ec_jwk() + "]"), no_object);
    EXPECT_EQ(error(R"({"keys":[],"a":)" + std::string(8, '[') + std::string(8, ']') + "}"),
              "the document is nested deeper than 8 levels");
    constexpr std::string_view no_array = "the document has no array keys: it is not a JWK Set";
    for (std::string_view const text :
         {std::string_view("{}"), std::string_view(ec_jwk()), std::string_view(R"({"keys":{}})"),
          std::string_view(R"({"keys":null})"), std::string_view(R"({"keys":"[]"})"),
          std::string_view(R"({"Keys":[]})"),
          std::string_view(R"({"a":{"keys":[]},"b":"\"keys\":[]"})")})
        EXPECT_EQ(error(text), no_array) << text;
    EXPECT_EQ(error(set_text("")), "no key of the set can verify tokens");
    EXPECT_EQ(error(set_text(R"({"kty":"X"})")), "no key of the set can verify tokens");
    EXPECT_EQ(error("{\"keys\":[" + ec_jwk() + "],\"keys\":[" + ec_jwk() + "]}"),
              "the document has two members of the same name");
    EXPECT_EQ(error("{\"a\":1,\"a\":1,\"keys\":[" + ec_jwk() + "]}"),
              "the document has two members of the same name");
    EXPECT_EQ(error(set_text(ec_jwk()) + std::string(key_set_bytes_max, ' ') + "x"),
              "the document has more than 262144 bytes");
}

TEST(jwt_key_set, is_read_with_white_space_and_other_members) {
    auto const reading =
        read_key_set(" {\n \"a\" : [ \"]}\\\",\" , {\"keys\":1} ] ,\r\n\t\"keys\" :\n[ " +
                         ec_jwk() + " ,\n " + ed25519_signer().jwk() + "\n] , \"z\":\"\\\\\" }\n",
                     algorithm_set::all());
    ASSERT_NE(reading.keys, nullptr) << reading.errors.front();
    EXPECT_EQ(reading.keys->size(), 2u);
}

TEST(jwt_key_set, has_a_bounded_number_of_keys) {
    auto const keys = [](std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i)
            text += (i == 0 ? "" : ",") + with("\"kid\":\"" + std::to_string(i) + '"', ec_jwk());
        return read_key_set(set_text(text), algorithm_set::all());
    };
    ASSERT_NE(keys(key_set_keys_max).keys, nullptr);
    EXPECT_EQ(keys(key_set_keys_max).keys->size(), key_set_keys_max);
    auto const excess = keys(key_set_keys_max + 1);
    ASSERT_EQ(excess.errors.size(), 1u);
    EXPECT_EQ(excess.errors[0], "the set has more than 100 keys");
    std::string members = ec_jwk();
    for (std::size_t i = 0; i < key_set_members_max; ++i)
        members = with("\"m" + std::to_string(i) + "\":0", members);
    EXPECT_EQ(read_key_set(set_text(members), algorithm_set::all()).errors.front(),
              "the document has more than 4096 members");
}

// Why a key of small order is refused: its owner is whoever knows this signature.
TEST(jwt_key_set, would_accept_one_signature_for_all_texts_under_the_neutral_element) {
    std::string const neutral = '\x01' + std::string(31, '\0');
    auto const signature = neutral + std::string(32, '\0');
    auto const* const point = reinterpret_cast<std::uint8_t const*>(neutral.data());
    for (std::string_view const text : {"one text", "another text"})
        EXPECT_EQ(ED25519_verify(reinterpret_cast<std::uint8_t const*>(text.data()), text.size(),
                                 reinterpret_cast<std::uint8_t const*>(signature.data()), point),
                  1);
    EXPECT_FALSE(public_key::ed25519(neutral));
}

TEST(jwt_key_set, takes_the_exponent_3) {
    auto const key = signing_key::rsa(2048, 3);
    auto const reading =
        read_key_set(set_text(key.jwk(R"("alg":"RS512","kid":"a")")), {algorithm::rs512});
    ASSERT_NE(reading.keys, nullptr);
    auto const* const key_of_set = reading.keys->find("a", algorithm::rs512);
    ASSERT_NE(key_of_set, nullptr);
    auto const signature = key.sign("RS512", "text");
    EXPECT_TRUE(key_of_set->verify("text", signature));
    EXPECT_FALSE(key_of_set->verify("texT", signature));
}

}  // namespace
}  // namespace latchkey::jwt
