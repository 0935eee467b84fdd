// Signatures that are not those of the input, or not in the one form that JWS has for them.
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/nid.h>
#include <openssl/rsa.h>

#include "token_cases.hpp"

namespace latchkey::jwt {
namespace {

struct signed_input {
    std::string text, signature;
};

signed_input sign_claims(std::string_view algorithm_name) {
    auto text = base64url(header_of(algorithm_name)) + '.' + base64url(claims_with());
    auto signature = signer_of(algorithm_name).sign(algorithm_name, text);
    return {std::move(text), std::move(signature)};
}

void add_signature(case_list& list, std::string name, signed_input const& input,
                   std::string_view signature, expectation expected = has_wrong_signature) {
    list.add(std::move(name), input.text + '.' + base64url(signature), expected);
}

void add_changes(case_list& list, std::string_view algorithm_name) {
    auto const input = sign_claims(algorithm_name);
    auto const& signature = input.signature;
    auto const add = [&](std::string_view fault, std::string_view text) {
        add_signature(list, std::string(algorithm_name) + ": " + std::string(fault), input, text);
    };
    auto const flipped = [&](std::size_t place, unsigned bit) {
        auto text = signature;
        text[place] = static_cast<char>(text[place] ^ 1 << bit);
        return text;
    };
    add("no signature", "");
    add("first bit changed", flipped(0, 7));
    add("middle bit changed", flipped(signature.size() / 2, 3));
    add("last bit changed", flipped(signature.size() - 1, 0));
    add("first byte missing", signature.substr(1));
    add("last byte missing", signature.substr(0, signature.size() - 1));
    add("half of it", signature.substr(0, signature.size() / 2));
    add("a zero in front", '\0' + signature);
    add("a zero behind", signature + '\0');
    add("twice", signature + signature);
    add("zeros", std::string(signature.size(), '\0'));
    add("ones", std::string(signature.size(), '\xff'));
    add("one byte", "\x01");
    add("of another input", signer_of(algorithm_name).sign(algorithm_name, input.text + 'A'));
    add("of the payload alone", signer_of(algorithm_name).sign(algorithm_name, claims_with()));
    auto const payload = base64url(claims_with({{"sub", R"("admin")"}}));
    auto const header = input.text.substr(0, input.text.find('.'));
    list.add(std::string(algorithm_name) + ": another payload",
             header + '.' + payload + '.' + base64url(signature), has_wrong_signature);
}

// Of a key pair of the same kind that is not the issuer's.
void add_foreign_keys(case_list& list) {
    static auto const rsa = signing_key::rsa(2048);
    static auto const p256 = signing_key::ec(NID_X9_62_prime256v1);
    static auto const p384 = signing_key::ec(NID_secp384r1);
    static auto const ed25519 = signing_key::ed25519();
    for (auto const name : algorithm_list) {
        auto const& key = name == "ES256"   ? p256
                          : name == "ES384" ? p384
                          : name == "EdDSA" ? ed25519
                                            : rsa;
        list.add(std::string(name) + ": signed by another key",
                 key.token(name, header_of(name), claims_with()), has_wrong_signature);
        // The header brings the key: it is not looked at.
        auto const members = ",\"jwk\":" + key.jwk();
        list.add(std::string(name) + ": signed by another key, which the header contains",
                 key.token(name, header_of(name, members), claims_with()), has_wrong_signature);
    }
}

std::string number_bytes(BIGNUM const* number, std::size_t size) {
    std::string bytes(size, '\0');
    BN_bn2bin_padded(reinterpret_cast<std::uint8_t*>(bytes.data()), size, number);
    return bytes;
}

bssl::UniquePtr<BIGNUM> number_of(std::string_view bytes) {
    return bssl::UniquePtr<BIGNUM>(
        BN_bin2bn(reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size(), nullptr));
}

void add_ecdsa_forms(case_list& list, std::string_view algorithm_name, int curve) {
    auto const input = sign_claims(algorithm_name);
    auto const size = input.signature.size() / 2;
    auto const r = input.signature.substr(0, size), s = input.signature.substr(size);
    bssl::UniquePtr<EC_GROUP> group(EC_GROUP_new_by_curve_name(curve));
    auto const* const order = EC_GROUP_get0_order(group.get());
    auto const n = number_bytes(order, size);
    std::string const zero(size, '\0');
    auto const one = zero.substr(1) + '\x01';
    auto const add = [&](std::string_view fault, std::string_view signature,
                         expectation expected = has_wrong_signature) {
        add_signature(list, std::string(algorithm_name) + ": " + std::string(fault), input,
                      signature, expected);
    };
    add("DER", signer_of(algorithm_name).sign_in_der(input.text));
    add("r and s exchanged", s + r);
    add("r is zero", zero + s);
    add("s is zero", r + zero);
    add("r is the order", n + s);
    add("s is the order", r + n);
    add("r and s are the order", n + n);
    add("r and s are one", one + one);
    add("r alone", r);
    add("r without its first byte", r.substr(1) + s);
    add("s with a zero in front", r + '\0' + s);
    add("both with a zero in front", '\0' + r + '\0' + s);
    add("zeros behind, to the size of P-521", r + s + zero.substr(0, 132 - 2 * size));
    // ECDSA has two signatures for each: s and n - s. Both are right (FIPS 186-5 §6.4.2).
    auto const difference = number_of(s);
    BN_sub(difference.get(), order, difference.get());
    add("the other s", r + number_bytes(difference.get(), size), is_accepted);
    // r + n, if it has the same length: equal modulo the order, and yet not below it.
    auto const sum = number_of(s);
    BN_add(sum.get(), order, sum.get());
    add("s plus the order, in a byte more", r + number_bytes(sum.get(), size + 1));
}

void add_rsa_forms(case_list& list) {
    auto const pkcs1 = sign_claims("RS256"), pss = sign_claims("PS256");
    auto const* const key = EVP_PKEY_get0_RSA(rsa_signer().native());
    auto const add_of = [&](signed_input const& input, std::string_view fault,
                            std::string_view signature) {
        add_signature(list, std::string(fault), input, signature);
    };
    for (auto const other : {"RS384", "RS512", "PS256", "PS384"})
        add_of(pkcs1, std::string("RS256: the signature of ") + other,
               rsa_signer().sign(other, pkcs1.text));
    for (auto const other : {"PS384", "PS512", "RS256"})
        add_of(pss, std::string("PS256: the signature of ") + other,
               rsa_signer().sign(other, pss.text));
    for (int const salt : {0, 1, 16, 31, 33, 64, 222})
        add_of(pss, "PS256: a salt of " + std::to_string(salt) + " bytes",
               rsa_signer().sign_with_salt(pss.text, salt));
    // Numbers that are the same modulo n.
    auto const sum = number_of(pkcs1.signature);
    BN_add(sum.get(), sum.get(), RSA_get0_n(key));
    add_of(pkcs1, "RS256: the modulus added", number_bytes(sum.get(), BN_num_bytes(sum.get())));
    add_of(pkcs1, "RS256: the modulus", number_bytes(RSA_get0_n(key), 256));
    bssl::UniquePtr<BIGNUM> const number(BN_dup(RSA_get0_n(key)));
    BN_sub_word(number.get(), 1);
    add_of(pkcs1, "RS256: the modulus less one", number_bytes(number.get(), 256));
    add_of(pkcs1, "RS256: one", std::string(255, '\0') + '\x01');
    // Padding of PKCS #1 without the DigestInfo around the digest.
    std::string raw(256, '\0');
    std::size_t size = 0;
    RSA_sign_raw(const_cast<RSA*>(key), &size, reinterpret_cast<std::uint8_t*>(raw.data()),
                 raw.size(), reinterpret_cast<std::uint8_t const*>(pkcs1.text.data()), 32,
                 RSA_PKCS1_PADDING);
    add_of(pkcs1, "RS256: text without a DigestInfo", raw);
}

void add_ed25519_forms(case_list& list) {
    auto const input = sign_claims("EdDSA");
    auto const r = input.signature.substr(0, 32), s = input.signature.substr(32);
    // S plus the order of the group, little-endian: malleable where it is not checked (RFC 8032
    // §8.4).
    constexpr unsigned char order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,
                                         0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
                                         0,    0,    0,    0,    0,    0,    0,    0,
                                         0,    0,    0,    0,    0,    0,    0,    0x10};
    auto sum = s;
    unsigned carry = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        carry += static_cast<unsigned char>(sum[i]) + order[i];
        sum[i] = static_cast<char>(carry);
        carry >>= 8;
    }
    add_signature(list, "EdDSA: the order added to S", input, r + sum);
    add_signature(list, "EdDSA: R and S exchanged", input, s + r);
    add_signature(list, "EdDSA: S is zero", input, r + std::string(32, '\0'));
    add_signature(list, "EdDSA: the neutral element and zero", input,
                  '\x01' + std::string(63, '\0'));
    add_signature(list, "EdDSA: the size of Ed448", input, input.signature + std::string(50, '\0'));
}

}  // namespace

void add_signature_cases(case_list& list) {
    for (auto const name : algorithm_list) {
        list.sign(std::string(name) + ": valid", name, header_of(name), claims_with(), is_accepted);
        add_changes(list, name);
    }
    add_foreign_keys(list);
    add_ecdsa_forms(list, "ES256", NID_X9_62_prime256v1);
    add_ecdsa_forms(list, "ES384", NID_secp384r1);
    add_rsa_forms(list);
    add_ed25519_forms(list);
}

}  // namespace latchkey::jwt
