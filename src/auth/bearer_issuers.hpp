// Whose JWTs are accepted (api.md §19): the issuers of the configuration with their keys. Immutable
// and shared by all workers; a reload makes another one.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "wire/jwt/verify.hpp"

namespace latchkey::auth {

struct bearer_issuers {
    std::vector<jwt::issuer> current;
    std::vector<std::string> documents;  // the JWKS of each, as it was read
    // The same issuers with the keys that they had before the last reload: tokens that were signed
    // with those are accepted until `former_until`, by the machine's clock.
    std::vector<jwt::issuer> former = {};
    base::wall_ms former_until = 0;
};

// How long the keys of before a reload are accepted, unless the next one comes earlier.
inline constexpr base::wall_ms former_keys_ms = 3'600'000;

}  // namespace latchkey::auth
