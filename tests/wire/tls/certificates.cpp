#include "certificates.hpp"

#include <openssl/bn.h>
#include <openssl/ec_key.h>
#include <openssl/evp.h>
#include <openssl/nid.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/check.hpp"

namespace latchkey::tls::testing {

temp_folder::temp_folder() {
    std::string name = std::filesystem::temp_directory_path() / "latchkey-tls-XXXXXX";
    base::check(::mkdtemp(name.data()) != nullptr, "no folder for a test");
    path_ = name;
}

temp_folder::~temp_folder() {
    std::filesystem::remove_all(path_);
}

std::string temp_folder::write(std::string_view name, std::string_view text) const {
    std::ofstream(path(name)) << text;
    return path(name);
}

bssl::UniquePtr<EVP_PKEY> make_ec_key(int curve) {
    bssl::UniquePtr<EC_KEY> ec(EC_KEY_new_by_curve_name(curve));
    bssl::UniquePtr<EVP_PKEY> key(EVP_PKEY_new());
    base::check(
        EC_KEY_generate_key(ec.get()) == 1 && EVP_PKEY_set1_EC_KEY(key.get(), ec.get()) == 1,
        "no key for a test");
    return key;
}

bssl::UniquePtr<EVP_PKEY> make_rsa_key(unsigned bits) {
    bssl::UniquePtr<RSA> rsa(RSA_new());
    bssl::UniquePtr<BIGNUM> exponent(BN_new());
    bssl::UniquePtr<EVP_PKEY> key(EVP_PKEY_new());
    base::check(
        BN_set_word(exponent.get(), RSA_F4) == 1 &&
            RSA_generate_key_ex(rsa.get(), static_cast<int>(bits), exponent.get(), nullptr) == 1 &&
            EVP_PKEY_set1_RSA(key.get(), rsa.get()) == 1,
        "no key for a test");
    return key;
}

namespace {

void set_name(X509_NAME* name, std::string const& common) {
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               reinterpret_cast<std::uint8_t const*>(common.c_str()), -1, -1, 0);
}

std::string contents(BIO* bio) {
    std::uint8_t const* bytes = nullptr;
    std::size_t size = 0;
    BIO_mem_contents(bio, &bytes, &size);
    return {reinterpret_cast<char const*>(bytes), size};
}

std::shared_ptr<identity const> load_identity(EVP_PKEY* key) {
    temp_folder const files;
    auto const certificate = make_certificate("a test", key, "a test", key);
    auto const loaded = identity::load(files.write("certificate", pem_of(certificate.get())),
                                       files.write("key", pem_of(key)));
    base::check(loaded.has_value(), "no identity for a test");
    return *loaded;
}

}  // namespace

bssl::UniquePtr<X509> make_certificate(std::string const& subject, EVP_PKEY* key,
                                       std::string const& issuer, EVP_PKEY* issuer_key,
                                       validity const& period) {
    bssl::UniquePtr<X509> result(X509_new());
    auto* const certificate = result.get();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 7);
    X509_gmtime_adj(X509_getm_notBefore(certificate), period.begin_seconds);
    X509_gmtime_adj(X509_getm_notAfter(certificate), period.end_seconds);
    set_name(X509_get_subject_name(certificate), subject);
    set_name(X509_get_issuer_name(certificate), issuer);
    X509_set_pubkey(certificate, key);
    base::check(X509_sign(certificate, issuer_key, EVP_sha256()) > 0, "no certificate for a test");
    return result;
}

std::string pem_of(X509* certificate) {
    bssl::UniquePtr<BIO> const text(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(text.get(), certificate);
    return contents(text.get());
}

std::string pem_of(EVP_PKEY* key, std::string const& passphrase) {
    bssl::UniquePtr<BIO> const text(BIO_new(BIO_s_mem()));
    auto const* const cipher = passphrase.empty() ? nullptr : EVP_aes_128_cbc();
    std::string copy = passphrase;
    PEM_write_bio_PKCS8PrivateKey(text.get(), key, cipher, copy.data(),
                                  static_cast<int>(copy.size()), nullptr, nullptr);
    return contents(text.get());
}

std::shared_ptr<identity const> ecdsa_identity() {
    static auto const loaded = load_identity(make_ec_key(NID_X9_62_prime256v1).get());
    return loaded;
}

std::shared_ptr<identity const> rsa_identity() {
    static auto const loaded = load_identity(make_rsa_key(2048).get());
    return loaded;
}

}  // namespace latchkey::tls::testing
