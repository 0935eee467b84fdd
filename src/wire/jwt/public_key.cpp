// BoringSSL computes; keys are built from bare numbers, and what it would accept but no sound
// issuer has is refused here: even moduli, odd sizes, Ed25519 points of small order. EC signatures
// are two numbers side by side, as JWS has them. Failures clear BoringSSL's queue of errors.
#include "wire/jwt/public_key.hpp"

#include <openssl/bn.h>
#include <openssl/curve25519.h>
#include <openssl/digest.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/nid.h>
#include <openssl/sha.h>

#include <algorithm>
#include <string>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "wire/jwt/jwt_limits.hpp"

namespace latchkey::jwt {
namespace {

// BoringSSL refuses to use larger ones.
constexpr unsigned exponent_bits_max = 33;

std::uint8_t const* octets(std::string_view text) {
    return reinterpret_cast<std::uint8_t const*>(text.data());
}

bssl::UniquePtr<BIGNUM> number_of(std::string_view bytes) {
    bssl::UniquePtr<BIGNUM> number(::BN_bin2bn(octets(bytes), bytes.size(), nullptr));
    base::check(number != nullptr, "a number that cannot be allocated");
    return number;
}

// The digest of the input, over which a signature is made.
struct digest {
    std::array<std::uint8_t, SHA512_DIGEST_LENGTH> bytes;
    std::size_t size = 0;
    EVP_MD const* function = nullptr;
    int nid = 0;
};

digest digest_of(std::string_view input, algorithm value) {
    digest result;
    switch (value) {
        case algorithm::rs384:
        case algorithm::ps384:
        case algorithm::es384:
            ::SHA384(octets(input), input.size(), result.bytes.data());
            result.size = SHA384_DIGEST_LENGTH;
            result.function = ::EVP_sha384();
            result.nid = NID_sha384;
            break;
        case algorithm::rs512:
        case algorithm::ps512:
            ::SHA512(octets(input), input.size(), result.bytes.data());
            result.size = SHA512_DIGEST_LENGTH;
            result.function = ::EVP_sha512();
            result.nid = NID_sha512;
            break;
        default:
            ::SHA256(octets(input), input.size(), result.bytes.data());
            result.size = SHA256_DIGEST_LENGTH;
            result.function = ::EVP_sha256();
            result.nid = NID_sha256;
            break;
    }
    return result;
}

bool is_pss(algorithm value) {
    return value == algorithm::ps256 || value == algorithm::ps384 || value == algorithm::ps512;
}

std::size_t field_bytes(algorithm value) {
    return value == algorithm::es384 ? 48 : 32;
}

// The y coordinates of the eight points of small order on edwards25519, little-endian, and those of
// them that a number below 2^255 has twice. Under such a key one signature fits many texts.
constexpr std::array<std::string_view, 7> small_order_points{
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"};

bool is_of_small_order(std::string_view point) {
    std::string y(point);
    y.back() = static_cast<char>(y.back() & 0x7f);  // the sign of x
    return std::ranges::find(small_order_points, base::to_hex(y)) != small_order_points.end();
}

bool is_odd(std::string_view number) {
    return !number.empty() && (static_cast<unsigned char>(number.back()) & 1) != 0;
}

}  // namespace

base::result<public_key> public_key::rsa(algorithm value, std::string_view modulus,
                                         std::string_view exponent) {
    if (modulus.starts_with('\0') || exponent.starts_with('\0'))
        return base::error{"has a number with leading zeros"};
    auto n = number_of(modulus), e = number_of(exponent);
    auto const bits = ::BN_num_bits(n.get());
    if (bits < rsa_bits_min || bits > rsa_bits_max)
        return base::error{"has a modulus of " + std::to_string(bits) + " bits, not " +
                           std::to_string(rsa_bits_min) + " to " + std::to_string(rsa_bits_max)};
    if (!is_odd(modulus)) return base::error{"has an even modulus"};
    if (!is_odd(exponent) || ::BN_is_one(e.get()) || ::BN_num_bits(e.get()) > exponent_bits_max)
        return base::error{"has an exponent that is not an odd number from 3 to 2^33"};
    public_key key(value);
    key.rsa_.reset(::RSA_new());
    base::check(
        key.rsa_ != nullptr && ::RSA_set0_key(key.rsa_.get(), n.get(), e.get(), nullptr) == 1,
        "an RSA key that cannot be allocated");
    static_cast<void>(n.release());
    static_cast<void>(e.release());
    return key;
}

base::result<public_key> public_key::ec(algorithm value, std::string_view x, std::string_view y) {
    auto const bytes = field_bytes(value);
    if (x.size() != bytes || y.size() != bytes)
        return base::error{"has a coordinate that is not of " + std::to_string(bytes) + " bytes"};
    public_key key(value);
    key.ec_.reset(::EC_KEY_new_by_curve_name(value == algorithm::es384 ? NID_secp384r1
                                                                       : NID_X9_62_prime256v1));
    base::check(key.ec_ != nullptr, "an EC key that cannot be allocated");
    if (::EC_KEY_set_public_key_affine_coordinates(key.ec_.get(), number_of(x).get(),
                                                   number_of(y).get()) != 1) {
        ::ERR_clear_error();
        return base::error{"is not a point of its curve"};
    }
    return key;
}

base::result<public_key> public_key::ed25519(std::string_view x) {
    if (x.size() != ed25519_bytes)
        return base::error{"has an x that is not of " + std::to_string(ed25519_bytes) + " bytes"};
    if (is_of_small_order(x)) return base::error{"is a point of small order"};
    public_key key(algorithm::eddsa);
    std::copy_n(octets(x), ed25519_bytes, key.ed25519_.data());
    return key;
}

bool public_key::verify_rsa(std::string_view input, std::string_view signature) const {
    auto const hash = digest_of(input, algorithm_);
    if (!is_pss(algorithm_))
        return ::RSA_verify(hash.nid, hash.bytes.data(), hash.size, octets(signature),
                            signature.size(), rsa_.get()) == 1;
    // The salt is as long as the digest (RFC 7518 §3.5), and so is that of the mask's function.
    return ::RSA_verify_pss_mgf1(rsa_.get(), hash.bytes.data(), hash.size, hash.function,
                                 hash.function, static_cast<int>(hash.size), octets(signature),
                                 signature.size()) == 1;
}

bool public_key::verify_ec(std::string_view input, std::string_view signature) const {
    auto const bytes = field_bytes(algorithm_);
    if (signature.size() != 2 * bytes) return false;
    bssl::UniquePtr<ECDSA_SIG> pair(::ECDSA_SIG_new());
    base::check(pair != nullptr, "a signature that cannot be allocated");
    auto r = number_of(signature.substr(0, bytes)), s = number_of(signature.substr(bytes));
    base::check(::ECDSA_SIG_set0(pair.get(), r.release(), s.release()) == 1,
                "a signature without numbers");
    auto const hash = digest_of(input, algorithm_);
    return ::ECDSA_do_verify(hash.bytes.data(), hash.size, pair.get(), ec_.get()) == 1;
}

bool public_key::verify(std::string_view input, std::string_view signature) const {
    bool valid = false;
    if (rsa_ != nullptr)
        valid = verify_rsa(input, signature);
    else if (ec_ != nullptr)
        valid = verify_ec(input, signature);
    else
        valid =
            signature.size() == ED25519_SIGNATURE_LEN &&
            ::ED25519_verify(octets(input), input.size(), octets(signature), ed25519_.data()) == 1;
    // A failure leaves an entry in the thread's queue, where the next user of TLS would find it.
    if (!valid) ::ERR_clear_error();
    return valid;
}

}  // namespace latchkey::jwt
