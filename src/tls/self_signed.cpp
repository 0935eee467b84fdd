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
#include "tls/context.hpp"

namespace latchkey::tls {

namespace {

constexpr long an_hour = 3600;
constexpr int ten_years_of_days = 3650;

bssl::UniquePtr<EVP_PKEY> make_key() {
    bssl::UniquePtr<EC_KEY> ec(EC_KEY_new_by_curve_name(NID_X9_62_prime256v1));
    bssl::UniquePtr<EVP_PKEY> key(EVP_PKEY_new());
    bool const made = ec != nullptr && key != nullptr && EC_KEY_generate_key(ec.get()) == 1 &&
                      EVP_PKEY_set1_EC_KEY(key.get(), ec.get()) == 1;
    return made ? std::move(key) : nullptr;
}

bool extend(X509* certificate, int kind, char const* value) {
    X509V3_CTX about{};
    X509V3_set_ctx(&about, certificate, certificate, nullptr, nullptr, 0);
    bssl::UniquePtr<X509_EXTENSION> const made(X509V3_EXT_nconf_nid(nullptr, &about, kind, value));
    return made != nullptr && X509_add_ext(certificate, made.get(), -1) == 1;
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

// A certificate that is both a server's and its own trust anchor. Some verifiers refuse one with
// CA:TRUE as a server's (webpki), others one without keyCertSign as an issuer, which is what it is
// to itself (BoringSSL): so it has neither basicConstraints nor keyUsage, and extKeyUsage alone
// says what it is for.
bssl::UniquePtr<X509> make_certificate(EVP_PKEY* key) {
    bssl::UniquePtr<X509> made(X509_new());
    if (made == nullptr) return nullptr;
    auto* const of = made.get();
    auto* const name = X509_get_subject_name(of);
    auto const* const common = reinterpret_cast<std::uint8_t const*>("localhost");
    bool const complete =
        X509_set_version(of, 2) == 1 && set_serial(of) &&
        // A clock that is a little behind accepts it too.
        X509_gmtime_adj(X509_getm_notBefore(of), -an_hour) != nullptr &&
        X509_time_adj_ex(X509_getm_notAfter(of), ten_years_of_days, 0, nullptr) != nullptr &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common, -1, -1, 0) == 1 &&
        X509_set_issuer_name(of, name) == 1 && X509_set_pubkey(of, key) == 1 &&
        extend(of, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1") &&
        extend(of, NID_ext_key_usage, "serverAuth") &&
        extend(of, NID_subject_key_identifier, "hash") && X509_sign(of, key, EVP_sha256()) > 0;
    return complete ? std::move(made) : nullptr;
}

// A new file beside its destination, gone again unless it was moved there.
class file_beside {
  public:
    explicit file_beside(std::string const& destination) : destination_(destination) {
        unsigned char random[8];
        RAND_bytes(random, sizeof random);
        path_ = destination + ".new-" +
                base::to_hex({reinterpret_cast<char const*>(random), sizeof random});
    }
    ~file_beside() {
        if (written_) ::unlink(path_.c_str());
    }
    file_beside(file_beside const&) = delete;
    file_beside& operator=(file_beside const&) = delete;

    base::result<void> write(std::string_view bytes) {
        int const file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0) return base::errno_error("cannot create " + path_, errno);
        written_ = true;
        int why = 0;
        while (why == 0 && !bytes.empty()) {
            auto const put = ::write(file, bytes.data(), bytes.size());
            if (put >= 0)
                bytes.remove_prefix(static_cast<std::size_t>(put));
            else if (errno != EINTR)
                why = errno;
        }
        if (why == 0 && ::fsync(file) != 0) why = errno;
        if (::close(file) != 0 && why == 0) why = errno;
        if (why != 0) return base::errno_error("cannot write " + path_, why);
        return {};
    }

    base::result<void> move() {
        if (::rename(path_.c_str(), destination_.c_str()) != 0)
            return base::errno_error("cannot rename " + path_ + " to " + destination_, errno);
        written_ = false;
        return sync_folder();
    }

  private:
    base::result<void> sync_folder() const {
        auto const slash = destination_.rfind('/');
        auto const folder = slash == std::string::npos ? "." : destination_.substr(0, slash + 1);
        int const opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (opened < 0) return base::errno_error("cannot open " + folder, errno);
        int const why = ::fsync(opened) == 0 ? 0 : errno;
        ::close(opened);
        // Some file systems cannot sync a folder, and say so with EINVAL.
        if (why != 0 && why != EINVAL) return base::errno_error("cannot sync " + folder, why);
        return {};
    }

    std::string const destination_;
    std::string path_;
    bool written_ = false;
};

// The BIO's own memory is wiped when it is freed, as all of BoringSSL's.
std::string_view contents(BIO* of) {
    std::uint8_t const* bytes = nullptr;
    std::size_t size = 0;
    BIO_mem_contents(of, &bytes, &size);
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
    bool const made = certificate != nullptr && certificate_text != nullptr &&
                      key_text != nullptr &&
                      PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1 &&
                      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0,
                                                    nullptr, nullptr) == 1;
    ERR_clear_error();
    if (!made) return base::error{"cannot make a self-signed certificate: out of memory"};

    file_beside new_key(key_file), new_certificate(certificate_file);
    if (auto const written = new_key.write(contents(key_text.get())); !written) return written;
    if (auto const written = new_certificate.write(contents(certificate_text.get())); !written)
        return written;
    if (auto const moved = new_key.move(); !moved) return moved;
    return new_certificate.move();
}

}  // namespace latchkey::tls
