// One key of a JWK Set (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2): what it says, judged. Private to
// the layer. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/jwt/algorithm.hpp"
#include "wire/jwt/public_key.hpp"

namespace latchkey::jwt {

struct jwk_reading {
    std::optional<public_key> key;
    std::optional<std::string> id;  // `kid`, if it is a string
    // If there is no key, this continues a sentence whose subject is the key: "is a private key, …"
    std::string reason;
};
// `json` is valid JSON. The algorithm is one of the allowed ones.
jwk_reading read_jwk(std::string_view json, algorithm_set allowed);

}  // namespace latchkey::jwt
