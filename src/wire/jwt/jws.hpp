// A JSON Web Signature in its compact serialisation (RFC 7515 §7.1), whatever its payload is: the
// part of a token's verification that RFC 7515, 7518 and 8037 describe. Belongs to one thread.
// Private to the layer.
//
//     compact_jws jws;
//     if (auto const fault = jws.read(token); !fault.empty()) …
//     if (auto const fault = jws.verify(keys, algorithms); !fault.empty()) …
//     … jws.payload() …
//
// Faults are constant sentences, empty if there is none. Of the header only `alg`, `kid` and `typ`
// mean something; `jku`, `jwk`, `x5u` and `x5c`, by which a token would bring its own key, do not
// (RFC 8725 §3.10). `crit`, `b64` and `zip` change what a signature covers: refused.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "wire/jwt/algorithm.hpp"
#include "wire/jwt/json_object.hpp"
#include "wire/jwt/jwt_limits.hpp"
#include "wire/jwt/key_set.hpp"

namespace latchkey::jwt {

class compact_jws {
  public:
    compact_jws() = default;
    // The token is a credential, and it is of no use without its signature: that is wiped.
    ~compact_jws();
    compact_jws(compact_jws const&) = delete;
    compact_jws& operator=(compact_jws const&) = delete;

    // Called once; the token outlives this object.
    std::string_view read(std::string_view token);

    // By the key of the set that `kid` names or, without `kid`, the only one of the algorithm.
    std::string_view verify(key_set const& keys, algorithm_set allowed) const;

    std::string_view payload() const { return payload_; }  // decoded; not verified by `read`
    bool is_of_type(std::string_view type) const;          // `typ` is this, or "application/" this
    bool has_type() const { return type_.has_value(); }

  private:
    std::string_view read_header();

    json_object header_{header_members_max};
    std::string_view signed_text_, payload_, signature_;
    std::optional<algorithm> algorithm_;             // empty: none that is accepted
    std::optional<std::string_view> key_id_, type_;  // views into the header
    char bytes_[token_bytes_max];                    // what the three parts decode to
};

}  // namespace latchkey::jwt
