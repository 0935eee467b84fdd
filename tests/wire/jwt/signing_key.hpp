// Key pairs of issuers, made when a test runs, and what they sign: valid tokens, and invalid ones
// whose signature is right.
#pragma once

#include <openssl/evp.h>

#include <string>
#include <string_view>

namespace latchkey::jwt {

std::string base64url(std::string_view bytes);

class signing_key {
  public:
    static signing_key rsa(unsigned bits, unsigned long exponent = 65537);
    static signing_key ec(int curve);  // NID_X9_62_prime256v1, NID_secp384r1, NID_secp521r1
    static signing_key ed25519();

    // The public key as a JWK with further members: R"("kid":"a")".
    std::string jwk(std::string_view members = {}) const;
    // With the private part too.
    std::string private_jwk() const;

    // A signature of JWS by a name of RFC 7518 that fits the type of the key.
    std::string sign(std::string_view algorithm_name, std::string_view input) const;
    // As JWS does not have it: DER for ECDSA, another length of the salt for PSS.
    std::string sign_in_der(std::string_view input) const;
    std::string sign_with_salt(std::string_view input, int salt_bytes) const;

    // `header.payload.signature`, each encoded.
    std::string token(std::string_view algorithm_name, std::string_view header,
                      std::string_view payload) const;

    EVP_PKEY* native() const { return key_.get(); }

  private:
    explicit signing_key(EVP_PKEY* key) : key_(key) {}

    std::string evp_sign(EVP_MD const* digest, int salt_bytes, std::string_view input) const;

    bssl::UniquePtr<EVP_PKEY> key_;
};

// Made once.
signing_key const& rsa_signer();
signing_key const& p256_signer();
signing_key const& p384_signer();
signing_key const& ed25519_signer();
// The key that signs under a name of RFC 7518.
signing_key const& signer_of(std::string_view algorithm_name);

}  // namespace latchkey::jwt
