// Confusion of algorithms and of types of keys (RFC 8725 §2.1, §3.1): a header must not decide how
// a key is used.
#include <openssl/bytestring.h>
#include <openssl/digest.h>
#include <openssl/hmac.h>
#include <openssl/mem.h>
#include <openssl/pem.h>

#include "token_cases.hpp"

namespace latchkey::jwt {
namespace {

std::string hmac(EVP_MD const* digest, std::string_view key, std::string_view input) {
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    HMAC(digest, key.data(), key.size(), reinterpret_cast<std::uint8_t const*>(input.data()),
         input.size(), mac, &size);
    return {reinterpret_cast<char const*>(mac), size};
}

// The texts and bytes of a public key that a careless verifier might take for an HMAC's key.
std::vector<std::pair<std::string, std::string>> public_key_texts(signing_key const& key) {
    std::uint8_t* der = nullptr;
    std::size_t size = 0;
    bssl::ScopedCBB writer;
    CBB_init(writer.get(), 512);
    EVP_marshal_public_key(writer.get(), key.native());
    CBB_finish(writer.get(), &der, &size);
    std::string const spki(reinterpret_cast<char const*>(der), size);
    OPENSSL_free(der);
    bssl::UniquePtr<BIO> memory(BIO_new(BIO_s_mem()));
    PEM_write_bio_PUBKEY(memory.get(), key.native());
    std::uint8_t const* text = nullptr;
    BIO_mem_contents(memory.get(), &text, &size);
    std::string const pem(reinterpret_cast<char const*>(text), size);
    return {{"PEM", pem}, {"DER", spki}, {"JWK", key.jwk()}, {"nothing", ""}};
}

std::string header_with(std::string_view algorithm_name, std::string_view key_id) {
    return R"({"alg":")" + std::string(algorithm_name) + R"(","kid":")" + std::string(key_id) +
           "\"}";
}

// Every key under the name of every other algorithm: signed as the key's own algorithm has it and,
// where the same key pair can do so, as the header says.
void add_confusions(case_list& list) {
    for (auto const own : algorithm_list)
        for (auto const other : algorithm_list) {
            auto const header = header_with(other, own);
            std::string const name =
                "the key for " + std::string(own) + " under " + std::string(other);
            auto const expected = own == other ? is_accepted : has_other_algorithm;
            list.add(name, signer_of(own).token(own, header, claims_with()), expected);
            if (own != other && &signer_of(own) == &signer_of(other))
                list.add(name + ", signed so", signer_of(other).token(other, header, claims_with()),
                         expected);
        }
}

void add_unknown_algorithms(case_list& list) {
    for (auto const name : {"none",
                            "None",
                            "NONE",
                            "nOnE",
                            "",
                            " ",
                            "none ",
                            "HS256",
                            "HS384",
                            "HS512",
                            "ES512",
                            "ES256K",
                            "ESP512",
                            "Ed448",
                            "RS1",
                            "RS256 ",
                            " RS256",
                            "rs256",
                            "Rs256",
                            "RSA-OAEP",
                            "RSA1_5",
                            "dir",
                            "A128KW",
                            "SHA256withRSA",
                            "RS256\\u0000",
                            "RS2\\u00356\\u0000",
                            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"}) {
        auto const header = header_with(name, "RS256");
        auto const input = base64url(header) + '.' + base64url(claims_with());
        auto const signature = base64url(rsa_signer().sign("RS256", input));
        std::string const title = "alg \"" + std::string(name) + '"';
        list.add(title + " with a signature", input + '.' + signature, has_unknown_algorithm);
        list.add(title + " without a signature", input + '.', has_unknown_algorithm);
    }
    // The same name, but for how it is written: JSON's escapes do not count.
    list.add("alg RS256 with an escape",
             rsa_signer().token("RS256", header_with("RS\\u0032\\u00356", "RS256"), claims_with()),
             is_accepted);
}

void add_symmetric_cases(case_list& list) {
    for (auto const& [name, digest] :
         {std::pair("HS256", EVP_sha256()), std::pair("HS384", EVP_sha384()),
          std::pair("HS512", EVP_sha512())})
        for (auto const own : {"RS256", "ES256", "EdDSA"})
            for (auto const& [form, key] : public_key_texts(signer_of(own))) {
                auto const input =
                    base64url(header_with(name, own)) + '.' + base64url(claims_with());
                list.add(std::string(name) + " with the public key of " + own + " as " + form,
                         input + '.' + base64url(hmac(digest, key, input)), has_unknown_algorithm);
            }
    // The MAC under a name that is accepted.
    for (auto const own : {"RS256", "ES256", "EdDSA"})
        for (auto const& [form, key] : public_key_texts(signer_of(own))) {
            auto const input = base64url(header_of(own)) + '.' + base64url(claims_with());
            list.add(std::string("a MAC instead of a signature, ") + own + ", " + form,
                     input + '.' + base64url(hmac(EVP_sha256(), key, input)), has_wrong_signature);
        }
}

}  // namespace

void add_algorithm_cases(case_list& list) {
    add_confusions(list);
    add_unknown_algorithms(list);
    add_symmetric_cases(list);
    list.sign("an algorithm that this issuer does not allow", "ES256", header_of("ES256"),
              claims_with({{"iss", R"("https://rs256.example")"}}), has_other_algorithm);
    list.sign("the algorithm that this issuer allows", "RS256", header_of("RS256"),
              claims_with({{"iss", R"("https://rs256.example")"}}), is_accepted);
}

}  // namespace latchkey::jwt
