// Certificates and keys of tests, and a temporary folder for them.
#pragma once

#include <openssl/base.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/tls/tls_context.hpp"

namespace latchkey::tls::testing {

// The destructor removes it with its files.
class temp_folder {
  public:
    temp_folder();
    ~temp_folder();
    temp_folder(temp_folder const&) = delete;
    temp_folder& operator=(temp_folder const&) = delete;
    std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
    std::string write(std::string_view name, std::string_view text) const;

  private:
    std::string path_;
};

bssl::UniquePtr<EVP_PKEY> make_ec_key(int curve);
bssl::UniquePtr<EVP_PKEY> make_rsa_key(unsigned bits);

struct validity {
    long begin_seconds = -3600;
    long end_seconds = 86'400;
};
// Signed by `issuer_key` in the name of `issuer`.
bssl::UniquePtr<X509> make_certificate(std::string const& subject, EVP_PKEY* key,
                                       std::string const& issuer, EVP_PKEY* issuer_key,
                                       validity const& period = {});

std::string pem_of(X509* certificate);
std::string pem_of(EVP_PKEY* key, std::string const& passphrase = {});

// Created once per process.
std::shared_ptr<identity const> ecdsa_identity();
std::shared_ptr<identity const> rsa_identity();

}  // namespace latchkey::tls::testing
