// The key (P-256) and the certificate are made and written as PEM in memory, then both to temporary
// files, and only when both are on disk moved to their places, the key first: an interruption
// leaves no certificate without its key.
#include "wire/tls/self_signed.hpp"

#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/bytestring.h>
#include <openssl/ec_key.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/nid.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/bytes.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::tls {

namespace {

constexpr long hour_seconds = 3600;
constexpr int validity_days = 3650;

bssl::UniquePtr<EVP_PKEY> make_key() {
    bssl::UniquePtr<EC_KEY> ec(EC_KEY_new_by_curve_name(NID_X9_62_prime256v1));
    bssl::UniquePtr<EVP_PKEY> key(EVP_PKEY_new());
    bool const ok = ec != nullptr && key != nullptr && EC_KEY_generate_key(ec.get()) == 1 &&
                    EVP_PKEY_set1_EC_KEY(key.get(), ec.get()) == 1;
    return ok ? std::move(key) : nullptr;
}

bool extend(X509* certificate, int kind, char const* value) {
    X509V3_CTX context{};
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    bssl::UniquePtr<X509_EXTENSION> const extension(
        X509V3_EXT_nconf_nid(nullptr, &context, kind, value));
    return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// RFC 5280 §4.1.2.2: positive, at most 20 bytes.
bool set_serial(X509* certificate) {
    std::uint8_t bytes[16];
    RAND_bytes(bytes, sizeof bytes);
    bytes[0] = (bytes[0] & 0x7f) | 0x40;
    bssl::UniquePtr<BIGNUM> const number(BN_bin2bn(bytes, sizeof bytes, nullptr));
    return number != nullptr &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// A certificate that is both a server's and its own trust anchor, also in OpenSSL's strict mode.
// webpki refuses CA:TRUE in a server's certificate, BoringSSL a keyUsage without keyCertSign in an
// issuer's. So it has neither basicConstraints nor keyUsage; extKeyUsage alone states its purpose.
bssl::UniquePtr<X509> make_certificate(EVP_PKEY* key) {
    bssl::UniquePtr<X509> result(X509_new());
    if (result == nullptr) return nullptr;
    auto* const certificate = result.get();
    auto* const name = X509_get_subject_name(certificate);
    auto const* const common = reinterpret_cast<std::uint8_t const*>("localhost");
    bool const complete =
        X509_set_version(certificate, 2) == 1 && set_serial(certificate) &&
        // Accepted by a clock that is slightly behind, too.
        X509_gmtime_adj(X509_getm_notBefore(certificate), -hour_seconds) != nullptr &&
        X509_time_adj_ex(X509_getm_notAfter(certificate), validity_days, 0, nullptr) != nullptr &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common, -1, -1, 0) == 1 &&
        X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
        extend(certificate, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1") &&
        extend(certificate, NID_ext_key_usage, "serverAuth") &&
        extend(certificate, NID_subject_key_identifier, "hash") &&
        X509_sign(certificate, key, EVP_sha256()) > 0;
    return complete ? std::move(result) : nullptr;
}

// A temporary file beside its destination. The destructor removes it unless it was moved there.
class temporary_file {
  public:
    explicit temporary_file(std::string const& destination) : destination_(destination) {
        unsigned char random[8];
        RAND_bytes(random, sizeof random);
        path_ = destination + ".new-" +
                base::to_hex({reinterpret_cast<char const*>(random), sizeof random});
    }
    ~temporary_file() {
        if (exists_) ::unlink(path_.c_str());
    }
    temporary_file(temporary_file const&) = delete;
    temporary_file& operator=(temporary_file const&) = delete;

    base::result<void> write(std::string_view bytes) {
        int const file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0) return base::errno_error("cannot create " + path_, errno);
        exists_ = true;
        int error = 0;
        while (error == 0 && !bytes.empty()) {
            auto const count = ::write(file, bytes.data(), bytes.size());
            if (count >= 0)
                bytes.remove_prefix(static_cast<std::size_t>(count));
            else if (errno != EINTR)
                error = errno;
        }
        if (error == 0 && ::fsync(file) != 0) error = errno;
        if (::close(file) != 0 && error == 0) error = errno;
        if (error != 0) return base::errno_error("cannot write " + path_, error);
        return {};
    }

    base::result<void> move() {
        if (::rename(path_.c_str(), destination_.c_str()) != 0)
            return base::errno_error("cannot rename " + path_ + " to " + destination_, errno);
        exists_ = false;
        return sync_folder();
    }

  private:
    base::result<void> sync_folder() const {
        auto const slash = destination_.rfind('/');
        auto const folder = slash == std::string::npos ? "." : destination_.substr(0, slash + 1);
        auto const directory = base::open_file(folder, O_RDONLY | O_DIRECTORY);
        if (!directory.is_open()) return base::errno_error("cannot open " + folder, errno);
        int const error = ::fsync(directory.get()) == 0 ? 0 : errno;
        // Some file systems cannot sync a folder and return EINVAL.
        if (error != 0 && error != EINVAL) return base::errno_error("cannot sync " + folder, error);
        return {};
    }

    std::string const destination_;
    std::string path_;
    bool exists_ = false;
};

// BoringSSL wipes the BIO's memory when it frees it.
std::string_view contents(BIO* bio) {
    std::uint8_t const* bytes = nullptr;
    std::size_t size = 0;
    BIO_mem_contents(bio, &bytes, &size);
    return {reinterpret_cast<char const*>(bytes), size};
}

}  // namespace

base::result<void> make_self_signed(std::string const& certificate_file,
                                    std::string const& key_file) {
    ERR_clear_error();
    auto const key = make_key();
    auto const certificate = key != nullptr ? make_certificate(key.get()) : nullptr;
    bssl::UniquePtr<BIO> const certificate_text(BIO_new(BIO_s_mem()));
    bssl::UniquePtr<BIO> const key_text(BIO_new(BIO_s_mem()));
    bool const ok = certificate != nullptr && certificate_text != nullptr && key_text != nullptr &&
                    PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1 &&
                    PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0,
                                                  nullptr, nullptr) == 1;
    ERR_clear_error();
    if (!ok) return base::error{"cannot make a self-signed certificate: out of memory"};

    temporary_file new_key(key_file), new_certificate(certificate_file);
    if (auto const outcome = new_key.write(contents(key_text.get())); !outcome) return outcome;
    if (auto const outcome = new_certificate.write(contents(certificate_text.get())); !outcome)
        return outcome;
    if (auto const outcome = new_key.move(); !outcome) return outcome;
    return new_certificate.move();
}

}  // namespace latchkey::tls
