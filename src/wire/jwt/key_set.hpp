// The public keys of an issuer: a JWK Set (RFC 7517 §5) as its JWKS document has it. Immutable once
// read, so threads share one by `shared_ptr`; a verification takes no lock of its own.
//
//     auto reading = jwt::read_key_set(text, {jwt::algorithm::rs256, jwt::algorithm::es256});
//     if (!reading.keys) … reading.errors …      // nothing of the document is used
//     for (auto const& line : reading.skipped) … // worth a line in the log
//
// Each key has one algorithm, which the document decides and never a token (RFC 8725 §3.1): its
// `alg`; else what its curve implies; else, for RSA, the only RSA algorithm that is allowed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/jwt/algorithm.hpp"

namespace latchkey::jwt {

class public_key;

class key_set {
  public:
    explicit key_set(std::vector<public_key> keys);
    ~key_set();
    key_set(key_set const&) = delete;
    key_set& operator=(key_set const&) = delete;

    std::size_t size() const;  // at least 1
    // The key of that id, which keys for different algorithms may share (RFC 7517 §4.5): that of
    // the algorithm if there is one. Null: there is none of that id.
    public_key const* find(std::string_view key_id, algorithm value) const;
    // For a token without `kid`: the only key of that algorithm. Null: there is none, or several.
    public_key const* find_only(algorithm value) const;

  private:
    std::vector<public_key> keys_;
};

// Each line names a key by its index and, where it has one, its `kid`: `keys[2] (kid "a") is a
// private key, since it has the member d`. Of the document nothing else is repeated but names of
// members and the values of `kty`, `crv`, `alg` and `use`, all escaped for a terminal.
struct key_set_reading {
    std::shared_ptr<key_set const> keys;  // null if there are errors
    // A document that is not a JWK Set, or no key of it remains.
    std::vector<std::string> errors;
    // Keys that are not used (RFC 7517 §5): those for something else (another `use`, `key_ops`
    // without `verify`, an unknown `kty` or `crv`, an `alg` that is not allowed), and those that
    // are private, symmetric, short, malformed, twice there or of no certain algorithm.
    std::vector<std::string> skipped;
};
key_set_reading read_key_set(std::string_view json, algorithm_set allowed);

}  // namespace latchkey::jwt
