// One public key of an issuer, prepared for verification once: parsing costs more than a signature.
// Private to the layer. A key is immutable; threads may verify with one at the same time.
#pragma once

#include <openssl/ec_key.h>
#include <openssl/rsa.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "wire/jwt/algorithm.hpp"

namespace latchkey::jwt {

// A key as its JWK (RFC 7517 §4) has it, decoded.
class public_key {
  public:
    static constexpr std::size_t ed25519_bytes = 32;

    // Unsigned big-endian numbers without leading zeros (RFC 7518 §6.3.1). Errors continue a
    // sentence whose subject is the key: "has a modulus of 1024 bits, and 2048 are needed".
    static base::result<public_key> rsa(algorithm value, std::string_view modulus,
                                        std::string_view exponent);
    // Coordinates of the full length of the curve's field (RFC 7518 §6.2.1); the curve is that of
    // the algorithm, es256 or es384.
    static base::result<public_key> ec(algorithm value, std::string_view x, std::string_view y);
    static base::result<public_key> ed25519(std::string_view x);  // RFC 8037 §2

    // Whether the signature, in the form of JWS (RFC 7518 §3.3 to §3.5, RFC 8037 §3.1), is that of
    // the input under the key's own algorithm.
    bool verify(std::string_view input, std::string_view signature) const;

    algorithm own_algorithm() const { return algorithm_; }
    std::optional<std::string> const& id() const { return id_; }
    void set_id(std::string id) { id_ = std::move(id); }

  private:
    explicit public_key(algorithm value) : algorithm_(value) {}

    bool verify_rsa(std::string_view input, std::string_view signature) const;
    bool verify_ec(std::string_view input, std::string_view signature) const;

    algorithm algorithm_;
    std::optional<std::string> id_;
    bssl::UniquePtr<RSA> rsa_;
    bssl::UniquePtr<EC_KEY> ec_;
    std::array<std::uint8_t, ed25519_bytes> ed25519_{};
};

}  // namespace latchkey::jwt
