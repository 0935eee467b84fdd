#include "signing_key.hpp"

#include <openssl/bn.h>
#include <openssl/digest.h>
#include <openssl/ec.h>
#include <openssl/ec_key.h>
#include <openssl/ecdsa.h>
#include <openssl/nid.h>
#include <openssl/rsa.h>

#include <array>

#include "base/check.hpp"

namespace latchkey::jwt {
namespace {

constexpr int no_pss = -100;

std::uint8_t const* octets(std::string_view text) {
    return reinterpret_cast<std::uint8_t const*>(text.data());
}

std::string bytes_of(BIGNUM const* number, std::size_t size = 0) {
    std::string bytes(size == 0 ? BN_num_bytes(number) : size, '\0');
    base::check(
        BN_bn2bin_padded(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size(), number) == 1,
        "a number that is too long");
    return bytes;
}

std::string member(std::string_view name, std::string_view bytes) {
    return ",\"" + std::string(name) + "\":\"" + base64url(bytes) + '"';
}

EVP_MD const* digest_by_name(std::string_view name) {
    return name.ends_with("256")   ? EVP_sha256()
           : name.ends_with("384") ? EVP_sha384()
                                   : EVP_sha512();
}

std::size_t field_bytes(EC_KEY const* key) {
    return (EC_GROUP_get_degree(EC_KEY_get0_group(key)) + 7) / 8;
}

std::string ec_members(EC_KEY const* key, bool with_private) {
    auto const size = field_bytes(key);
    bssl::UniquePtr<BIGNUM> x(BN_new()), y(BN_new());
    EC_POINT_get_affine_coordinates_GFp(EC_KEY_get0_group(key), EC_KEY_get0_public_key(key),
                                        x.get(), y.get(), nullptr);
    auto const* const curve = size == 32 ? "P-256" : size == 48 ? "P-384" : "P-521";
    auto text = std::string(R"("kty":"EC","crv":")") + curve + '"' +
                member("x", bytes_of(x.get(), size)) + member("y", bytes_of(y.get(), size));
    if (with_private) text += member("d", bytes_of(EC_KEY_get0_private_key(key), size));
    return text;
}

std::string rsa_members(RSA const* key, bool with_private) {
    auto text = R"("kty":"RSA")" + member("n", bytes_of(RSA_get0_n(key))) +
                member("e", bytes_of(RSA_get0_e(key)));
    if (with_private) text += member("d", bytes_of(RSA_get0_d(key)));
    return text;
}

std::string ed25519_members(EVP_PKEY const* key, bool with_private) {
    std::array<std::uint8_t, 32> bytes;
    std::size_t size = bytes.size();
    EVP_PKEY_get_raw_public_key(key, bytes.data(), &size);
    std::string_view const view(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    auto text = R"("kty":"OKP","crv":"Ed25519")" + member("x", view);
    EVP_PKEY_get_raw_private_key(key, bytes.data(), &size);
    if (with_private) text += member("d", view);
    return text;
}

std::string members_of(EVP_PKEY* key, bool with_private) {
    if (auto const* const rsa = EVP_PKEY_get0_RSA(key)) return rsa_members(rsa, with_private);
    if (auto const* const ec = EVP_PKEY_get0_EC_KEY(key)) return ec_members(ec, with_private);
    return ed25519_members(key, with_private);
}

}  // namespace

std::string base64url(std::string_view bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text;
    unsigned bits = 0, count = 0;
    for (char const byte : bytes) {
        bits = bits << 8 | static_cast<unsigned char>(byte);
        for (count += 8; count >= 6; count -= 6) text += digits[bits >> (count - 6) & 63];
    }
    if (count > 0) text += digits[bits << (6 - count) & 63];
    return text;
}

signing_key signing_key::rsa(unsigned bits, unsigned long exponent) {
    bssl::UniquePtr<RSA> rsa(RSA_new());
    bssl::UniquePtr<BIGNUM> e(BN_new());
    BN_set_u64(e.get(), exponent);
    base::check(RSA_generate_key_ex(rsa.get(), static_cast<int>(bits), e.get(), nullptr) == 1,
                "no RSA key");
    signing_key key(EVP_PKEY_new());
    EVP_PKEY_set1_RSA(key.native(), rsa.get());
    return key;
}

signing_key signing_key::ec(int curve) {
    bssl::UniquePtr<EC_KEY> ec(EC_KEY_new_by_curve_name(curve));
    base::check(EC_KEY_generate_key(ec.get()) == 1, "no EC key");
    signing_key key(EVP_PKEY_new());
    EVP_PKEY_set1_EC_KEY(key.native(), ec.get());
    return key;
}

signing_key signing_key::ed25519() {
    bssl::UniquePtr<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr));
    EVP_PKEY* key = nullptr;
    base::check(
        EVP_PKEY_keygen_init(context.get()) == 1 && EVP_PKEY_keygen(context.get(), &key) == 1,
        "no Ed25519 key");
    return signing_key(key);
}

std::string signing_key::jwk(std::string_view members) const {
    return '{' + members_of(native(), false) + (members.empty() ? "" : ",") + std::string(members) +
           '}';
}

std::string signing_key::private_jwk() const {
    return '{' + members_of(native(), true) + '}';
}

std::string signing_key::evp_sign(EVP_MD const* digest, int salt_bytes,
                                  std::string_view input) const {
    bssl::ScopedEVP_MD_CTX context;
    EVP_PKEY_CTX* padding = nullptr;
    base::check(EVP_DigestSignInit(context.get(), &padding, digest, nullptr, native()) == 1,
                "a key that cannot sign");
    if (salt_bytes != no_pss)
        base::check(EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1 &&
                        EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, salt_bytes) == 1,
                    "a padding that is not RSA's");
    std::size_t size = 0;
    EVP_DigestSign(context.get(), nullptr, &size, octets(input), input.size());
    std::string signature(size, '\0');
    base::check(EVP_DigestSign(context.get(), reinterpret_cast<std::uint8_t*>(signature.data()),
                               &size, octets(input), input.size()) == 1,
                "no signature");
    signature.resize(size);
    return signature;
}

std::string signing_key::sign(std::string_view algorithm_name, std::string_view input) const {
    if (algorithm_name == "EdDSA") return evp_sign(nullptr, no_pss, input);
    auto const* const digest = digest_by_name(algorithm_name);
    if (algorithm_name.starts_with("PS")) return evp_sign(digest, -1, input);
    auto signature = evp_sign(digest, no_pss, input);
    if (algorithm_name.starts_with("RS")) return signature;
    bssl::UniquePtr<ECDSA_SIG> pair(ECDSA_SIG_from_bytes(octets(signature), signature.size()));
    auto const size = field_bytes(EVP_PKEY_get0_EC_KEY(native()));
    return bytes_of(ECDSA_SIG_get0_r(pair.get()), size) +
           bytes_of(ECDSA_SIG_get0_s(pair.get()), size);
}

std::string signing_key::sign_in_der(std::string_view input) const {
    return evp_sign(EVP_sha256(), no_pss, input);
}

std::string signing_key::sign_with_salt(std::string_view input, int salt_bytes) const {
    return evp_sign(EVP_sha256(), salt_bytes, input);
}

std::string signing_key::token(std::string_view algorithm_name, std::string_view header,
                               std::string_view payload) const {
    auto const input = base64url(header) + '.' + base64url(payload);
    return input + '.' + base64url(sign(algorithm_name, input));
}

signing_key const& rsa_signer() {
    static auto const key = signing_key::rsa(2048);
    return key;
}
signing_key const& p256_signer() {
    static auto const key = signing_key::ec(NID_X9_62_prime256v1);
    return key;
}
signing_key const& p384_signer() {
    static auto const key = signing_key::ec(NID_secp384r1);
    return key;
}
signing_key const& ed25519_signer() {
    static auto const key = signing_key::ed25519();
    return key;
}

signing_key const& signer_of(std::string_view algorithm_name) {
    if (algorithm_name == "ES256") return p256_signer();
    if (algorithm_name == "ES384") return p384_signer();
    return algorithm_name == "EdDSA" ? ed25519_signer() : rsa_signer();
}

}  // namespace latchkey::jwt
