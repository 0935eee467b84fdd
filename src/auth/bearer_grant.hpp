// A verified JWT: the key record for which it stands, the scopes to which it narrows the record's,
// and its end. Reference-counted without atomics, since it never leaves its worker.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "base/problem.hpp"
#include "model/key.hpp"
#include "model/scope.hpp"

namespace latchkey::auth {

struct bearer_grant {
    // none, token_expired or token_not_yet_valid: the answer until `kept_until`.
    base::problem refusal = base::problem::none;
    model::digest record{};                  // by which the key record is found
    std::optional<model::scope_set> scopes;  // nullopt: the token narrows nothing
    base::wall_ms expires_at = 0;            // as the token has it
    base::wall_ms refused_from = 0;          // with the leeway; by the machine's clock
    // From then on the token is verified anew: the end of what was known when it was verified, also
    // of the key that signed it. By the machine's clock.
    base::wall_ms kept_until = 0;
    std::uint64_t generation = 0;  // of the issuers that verified it
};

}  // namespace latchkey::auth
