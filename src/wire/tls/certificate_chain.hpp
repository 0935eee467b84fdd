// A certificate chain and its private key, loaded and checked against each other, so that a context
// of it is known to work. Immutable, shared by all workers; a reload loads a new one.
#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace latchkey::tls {

struct native_identity;

class identity {
  public:
    // PEM files, the chain from the leaf upwards; ECDSA (P-256, P-384) or RSA (2048 bits or more),
    // the key not encrypted. An error names the file and what is wrong with it. An expired or not
    // yet valid certificate is loaded, and `summary` has a warning. Any thread; blocks on the files
    // and reads the wall clock.
    static base::result<std::shared_ptr<identity const>> load(std::string const& certificate_file,
                                                              std::string const& key_file);
    ~identity();
    identity(identity const&) = delete;
    identity& operator=(identity const&) = delete;

    bool rsa() const;
    std::string const& summary() const;  // subject, names and end of validity, for the operator
    base::wall_ms valid_until() const;   // of the leaf
    native_identity const& native() const { return *native_; }

  private:
    explicit identity(std::unique_ptr<native_identity> native);
    std::unique_ptr<native_identity> native_;
};

}  // namespace latchkey::tls
