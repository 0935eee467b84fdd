#include <gtest/gtest.h>
#include <openssl/nid.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "certificates.hpp"
#include "client.hpp"
#include "wire/tls/self_signed.hpp"
#include "wire/tls/session.hpp"

namespace latchkey::tls::testing {
namespace {

std::string text_of(std::string const& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

class identity_files : public ::testing::Test {
  protected:
    // The error message, empty on success.
    std::string error(std::string_view certificate, std::string_view secret) {
        auto const loaded =
            identity::load(files.write("certificate", certificate), files.write("key", secret));
        return loaded ? "" : loaded.error().message;
    }

    temp_folder files;
    bssl::UniquePtr<EVP_PKEY> key = make_ec_key(NID_X9_62_prime256v1);
    bssl::UniquePtr<X509> leaf = make_certificate("server", key.get(), "server", key.get());
};

TEST_F(identity_files, a_self_signed_certificate_loads) {
    auto const certificate = files.path("tls.crt"), secret = files.path("tls.key");
    auto const outcome = make_self_signed(certificate, secret);
    ASSERT_TRUE(outcome) << outcome.error().message;
    for (auto const& path : {certificate, secret}) {
        struct stat status{};
        ASSERT_EQ(::stat(path.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, 0600u);
    }
    std::size_t entries = 0;
    for (auto const& entry : std::filesystem::directory_iterator(files.path("."))) {
        static_cast<void>(entry);
        ++entries;
    }
    EXPECT_EQ(entries, 2u);

    auto const loaded = identity::load(certificate, secret);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_FALSE((*loaded)->rsa());
    EXPECT_EQ((*loaded)->summary().find("CN=localhost (localhost, 127.0.0.1, ::1), ECDSA P-256, "),
              0u)
        << (*loaded)->summary();
    EXPECT_EQ((*loaded)->summary().find("warning"), std::string::npos);
    auto const years = ((*loaded)->valid_until() - base::read_clocks().wall) / 86'400'000;
    EXPECT_NEAR(static_cast<double>(years), 3650, 2);

    context shared(*loaded, ticket_keys::make(), nullptr);
    client peer;
    session server(shared, nullptr);
    EXPECT_EQ(run_handshake(peer, server), progress::done);
}

TEST_F(identity_files, a_self_signed_certificate_is_its_own_trust_anchor) {
    auto const certificate = files.path("tls.crt"), secret = files.path("tls.key");
    ASSERT_TRUE(make_self_signed(certificate, secret));
    auto const text = text_of(certificate);
    bssl::UniquePtr<BIO> const bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    bssl::UniquePtr<X509> const read(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    ASSERT_NE(read, nullptr);
    bssl::UniquePtr<EVP_PKEY> const public_key(X509_get_pubkey(read.get()));
    EXPECT_EQ(X509_verify(read.get(), public_key.get()), 1);
    EXPECT_EQ(X509_check_host(read.get(), "localhost", 9, 0, nullptr), 1);
    EXPECT_EQ(X509_check_ip_asc(read.get(), "127.0.0.1", 0), 1);
    EXPECT_EQ(X509_check_ip_asc(read.get(), "::1", 0), 1);
    EXPECT_NE(X509_check_host(read.get(), "example.com", 11, 0, nullptr), 1);

    bssl::UniquePtr<X509_STORE> const store(X509_STORE_new());
    X509_STORE_add_cert(store.get(), read.get());
    bssl::UniquePtr<X509_STORE_CTX> const verification(X509_STORE_CTX_new());
    X509_STORE_CTX_init(verification.get(), store.get(), read.get(), nullptr);
    X509_STORE_CTX_set_purpose(verification.get(), X509_PURPOSE_SSL_SERVER);
    EXPECT_EQ(X509_verify_cert(verification.get()), 1)
        << X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification.get()));
}

TEST_F(identity_files, a_self_signed_certificate_replaces_the_last) {
    auto const certificate = files.path("tls.crt"), secret = files.path("tls.key");
    ASSERT_TRUE(make_self_signed(certificate, secret));
    auto const previous = text_of(certificate);
    ASSERT_TRUE(make_self_signed(certificate, secret));
    EXPECT_NE(text_of(certificate), previous);
    EXPECT_TRUE(identity::load(certificate, secret));
}

TEST_F(identity_files, a_self_signed_certificate_that_cannot_be_written_leaves_no_file) {
    auto const secret = files.path("tls.key");
    auto const outcome = make_self_signed(files.path("none/tls.crt"), secret);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find("none/tls.crt"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_empty(files.path(".")));
}

TEST_F(identity_files, chains_of_every_kind_of_key_load) {
    auto const root_key = make_rsa_key(2048), intermediate_key = make_ec_key(NID_secp384r1);
    auto const root = make_certificate("root", root_key.get(), "root", root_key.get());
    auto const intermediate =
        make_certificate("between", intermediate_key.get(), "root", root_key.get());
    auto const chain_leaf = make_certificate("leaf", key.get(), "between", intermediate_key.get());
    auto const chain = pem_of(chain_leaf.get()) + pem_of(intermediate.get()) + pem_of(root.get());
    EXPECT_EQ(error(chain, pem_of(key.get())), "");
    EXPECT_EQ(error(pem_of(intermediate.get()), pem_of(intermediate_key.get())), "");
    EXPECT_EQ(error("a comment before\n" + pem_of(root.get()), pem_of(root_key.get())), "");

    auto const wrong = pem_of(chain_leaf.get()) + pem_of(root.get()) + pem_of(intermediate.get());
    EXPECT_NE(error(wrong, pem_of(key.get())).find("certificate 2 in"), std::string::npos);
    auto const reversed =
        pem_of(root.get()) + pem_of(intermediate.get()) + pem_of(chain_leaf.get());
    EXPECT_NE(error(reversed, pem_of(key.get())).find("belongs to certificate 3"),
              std::string::npos);
    // Correct names with an invalid signature.
    auto const forged = make_certificate("leaf", key.get(), "between", root_key.get());
    EXPECT_NE(error(pem_of(forged.get()) + pem_of(intermediate.get()), pem_of(key.get()))
                  .find("did not issue certificate 1"),
              std::string::npos);
}

TEST_F(identity_files, errors_name_the_file_and_the_cause) {
    auto const good = pem_of(leaf.get()), secret = pem_of(key.get());
    auto const other = make_ec_key(NID_X9_62_prime256v1);
    EXPECT_EQ(error(good, secret), "");
    auto const expect = [&](std::string const& message, std::string_view expected) {
        EXPECT_NE(message.find(expected), std::string::npos) << message;
        EXPECT_EQ(message.find("BEGIN"), std::string::npos) << message;
    };
    expect(error("", secret), "certificate has no certificate in it");
    expect(error(good.substr(0, good.size() / 2), secret), "is not valid PEM");
    expect(error(good + good.substr(0, good.size() / 2), secret), "certificate 2 in");
    expect(error("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", secret),
           "certificate 1 in");
    expect(error(good, ""), "key has no private key");
    expect(error(good, good), "key has no private key");
    expect(error(good, pem_of(key.get(), "secret")), "is encrypted");
    expect(error(good, pem_of(other.get())), "does not belong to the certificate in");

    auto const p521 = make_ec_key(NID_secp521r1);
    auto const on_p521 = make_certificate("server", p521.get(), "server", p521.get());
    expect(error(pem_of(on_p521.get()), pem_of(p521.get())), "neither P-256 nor P-384");
    auto const weak = make_rsa_key(1024);
    auto const weak_certificate = make_certificate("server", weak.get(), "server", weak.get());
    expect(error(pem_of(weak_certificate.get()), pem_of(weak.get())), "fewer than 2048 bits");

    auto const missing = identity::load(files.path("nothing"), files.path("key"));
    ASSERT_FALSE(missing);
    expect(missing.error().message, "nothing: No such file or directory");
    auto const folder_itself = identity::load(files.path("."), files.path("key"));
    ASSERT_FALSE(folder_itself);
    expect(folder_itself.error().message, "Is a directory");
}

TEST_F(identity_files, an_expired_certificate_loads_with_a_warning) {
    auto const summary_of = [&](validity const& period) {
        auto const certificate = make_certificate("server", key.get(), "server", key.get(), period);
        auto const loaded = identity::load(files.write("certificate", pem_of(certificate.get())),
                                           files.write("key", pem_of(key.get())));
        return loaded ? (*loaded)->summary() : loaded.error().message;
    };
    EXPECT_NE(summary_of({.begin_seconds = -7200, .end_seconds = -3600}).find("(warning: EXPIRED)"),
              std::string::npos);
    EXPECT_NE(
        summary_of({.begin_seconds = 3600, .end_seconds = 7200}).find("(warning: not valid before"),
        std::string::npos);
    EXPECT_EQ(summary_of({}).find("CN=server (no names), ECDSA P-256, valid until 2"), 0u);
}

}  // namespace
}  // namespace latchkey::tls::testing
