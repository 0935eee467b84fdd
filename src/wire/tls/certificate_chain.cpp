// Certificates and key are read from PEM, then checked against each other (the key is that of the
// first certificate, each is issued by the next), and at last a context is made with them on trial.
// Each fault is told with the file it is in, as BoringSSL's own errors name none. Texts of files
// are wiped.
#include "wire/tls/certificate_chain.hpp"

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/ec_key.h>
#include <openssl/err.h>
#include <openssl/nid.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/system/read_within.hpp"
#include "wire/tls/certificate.hpp"
#include "wire/tls/native.hpp"

namespace latchkey::tls {

namespace {

using certificates = std::vector<bssl::UniquePtr<X509>>;

constexpr std::size_t pem_bytes_max = std::size_t{1} << 20;
constexpr int rsa_bits_min = 2048;

// A file's bytes, wiped by the destructor: one of the two files holds the key.
struct secret_text {
    std::string bytes;
    secret_text() = default;
    secret_text(secret_text&& other) noexcept : bytes(std::move(other.bytes)) {}
    ~secret_text() { base::wipe(bytes.data(), bytes.size()); }
};

base::result<secret_text> read_file(std::string const& path) {
    auto const file = base::open_to_read(path);
    if (!file.is_open()) return base::errno_error("cannot open " + path, errno);
    secret_text text;
    text.bytes.resize(pem_bytes_max);  // at once, since growing would leave copies in memory
    auto const size = base::read_within(file, path, text.bytes);
    if (!size) return size.error();
    if (*size == pem_bytes_max) return base::error{path + " is not a PEM file: it is too large"};
    text.bytes.resize(*size);
    return text;
}

bssl::UniquePtr<BIO> bio_over(std::string const& bytes) {
    bssl::UniquePtr<BIO> bio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
    base::check(bio != nullptr, "no memory for a BIO");
    ERR_clear_error();
    return bio;
}

bool is_end_of_pem() {
    auto const error = ERR_peek_last_error();
    ERR_clear_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

base::result<certificates> read_certificates(std::string const& path) {
    auto const text = read_file(path);
    if (!text) return text.error();
    auto const bio = bio_over(text->bytes);
    certificates chain;
    while (bssl::UniquePtr<X509> next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)})
        chain.push_back(std::move(next));
    if (!is_end_of_pem())
        return base::error{"certificate " + std::to_string(chain.size() + 1) + " in " + path +
                           " is not valid PEM"};
    if (chain.empty()) return base::error{path + " has no certificate in it"};
    return chain;
}

// A service that starts unattended cannot use a key with a passphrase.
int no_passphrase(char*, int, int, void* requested) {
    *static_cast<bool*>(requested) = true;
    return -1;
}

base::result<bssl::UniquePtr<EVP_PKEY>> read_key(std::string const& path) {
    auto const text = read_file(path);
    if (!text) return text.error();
    auto const bio = bio_over(text->bytes);
    bool encrypted = false;
    bssl::UniquePtr<EVP_PKEY> key(
        PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, &encrypted));
    ERR_clear_error();
    if (encrypted)
        return base::error{"the key in " + path + " is encrypted: store it without a passphrase"};
    if (key == nullptr) return base::error{path + " has no private key in PEM form"};

    if (EVP_PKEY_id(key.get()) == EVP_PKEY_RSA) {
        if (EVP_PKEY_bits(key.get()) < rsa_bits_min)
            return base::error{"the RSA key in " + path + " has fewer than 2048 bits"};
        return key;
    }
    if (EVP_PKEY_id(key.get()) != EVP_PKEY_EC)
        return base::error{"the key in " + path + " is neither ECDSA nor RSA"};
    auto const* const ec = EVP_PKEY_get0_EC_KEY(key.get());
    int const curve = EC_GROUP_get_curve_name(EC_KEY_get0_group(ec));
    if (curve != NID_X9_62_prime256v1 && curve != NID_secp384r1)
        return base::error{"the ECDSA key in " + path + " is on neither P-256 nor P-384"};
    return key;
}

base::result<void> check_chain(certificates const& chain, std::string const& path) {
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
        auto* const issued = chain[i].get();
        auto* const issuer = chain[i + 1].get();
        bssl::UniquePtr<EVP_PKEY> const key(X509_get_pubkey(issuer));
        bool const valid = X509_check_issued(issuer, issued) == X509_V_OK && key != nullptr &&
                           X509_verify(issued, key.get()) == 1;
        ERR_clear_error();
        if (!valid)
            return base::error{"certificate " + std::to_string(i + 2) + " in " + path +
                               " did not issue certificate " + std::to_string(i + 1) +
                               ": order the chain from the server's own upwards"};
    }
    return {};
}

base::result<void> check_key(certificates const& chain, EVP_PKEY* key,
                             std::string const& certificate_file, std::string const& key_file) {
    std::size_t index = 0;
    while (index < chain.size() && X509_check_private_key(chain[index].get(), key) != 1) ++index;
    ERR_clear_error();
    if (index == 0) return {};
    if (index == chain.size())
        return base::error{"the key in " + key_file + " does not belong to the certificate in " +
                           certificate_file};
    return base::error{"the key in " + key_file + " belongs to certificate " +
                       std::to_string(index + 1) + " in " + certificate_file +
                       ": the server's own certificate must come first"};
}

bssl::UniquePtr<CRYPTO_BUFFER> encode(X509* certificate) {
    std::uint8_t* der = nullptr;
    int const size = i2d_X509(certificate, &der);
    base::check(size > 0, "no memory for a certificate");
    bssl::UniquePtr<CRYPTO_BUFFER> buffer(
        CRYPTO_BUFFER_new(der, static_cast<std::size_t>(size), nullptr));
    OPENSSL_free(der);
    return buffer;
}

}  // namespace

base::result<std::shared_ptr<identity const>> identity::load(std::string const& certificate_file,
                                                             std::string const& key_file) {
    auto const chain = read_certificates(certificate_file);
    if (!chain) return chain.error();
    auto key = read_key(key_file);
    if (!key) return key.error();
    auto const matching = check_key(*chain, key->get(), certificate_file, key_file);
    if (!matching) return matching.error();
    auto const ordered = check_chain(*chain, certificate_file);
    if (!ordered) return ordered.error();

    auto native = std::make_unique<native_identity>();
    for (auto const& each : *chain) native->chain.push_back(encode(each.get()));
    native->key = std::move(*key);
    native->valid_until = wall_of(X509_get0_notAfter(chain->front().get()));
    native->summary = summarize(chain->front().get(), native->key.get(), base::read_clocks().clock);
    // Finds anything else that BoringSSL refuses, now instead of at the start of the server.
    if (make_ssl_context(*native, false) == nullptr)
        return base::error{"the certificate in " + certificate_file +
                           " cannot be used by a TLS server: " + std::string(queued_reason())};
    return std::shared_ptr<identity const>(new identity(std::move(native)));
}

identity::identity(std::unique_ptr<native_identity> native) : native_(std::move(native)) {}
identity::~identity() = default;

bool identity::rsa() const {
    return native_->rsa();
}
std::string const& identity::summary() const {
    return native_->summary;
}
base::wall_ms identity::valid_until() const {
    return native_->valid_until;
}

}  // namespace latchkey::tls
