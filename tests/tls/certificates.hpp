// Certificates and keys that tests make for themselves, and a folder for them.
#pragma once

#include <openssl/base.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tls/context.hpp"

namespace latchkey::tls::testing {

// Removed with all in it at its end.
class folder {
  public:
    folder();
    ~folder();
    folder(folder const&) = delete;
    folder& operator=(folder const&) = delete;
    std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
    std::string write(std::string_view name, std::string_view text) const;

  private:
    std::string path_;
};

bssl::UniquePtr<EVP_PKEY> make_ec_key(int curve);
bssl::UniquePtr<EVP_PKEY> make_rsa_key(unsigned bits);

struct validity {
    long from_seconds = -3600;
    long until_seconds = 86'400;
};
// Signed by `issuer_key` in the name of `issuer`.
bssl::UniquePtr<X509> make_certificate(std::string const& subject, EVP_PKEY* key,
                                       std::string const& issuer, EVP_PKEY* issuer_key,
                                       validity const& when = {});

std::string pem_of(X509* certificate);
std::string pem_of(EVP_PKEY* key, std::string const& passphrase = {});

// Made once per process; they load, or the test process ends.
std::shared_ptr<identity const> ecdsa_identity();
std::shared_ptr<identity const> rsa_identity();

}  // namespace latchkey::tls::testing
