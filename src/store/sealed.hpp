// Secrets at rest: AES-256-GCM (NIST SP 800-38D) under a key derived from the master key, with the
// name of what the secret is of as additional data, so that none can be put in another's place.
// Sealed bytes are a random nonce (12), the ciphertext and the tag (16). Private to the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/secret.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {

// The store must have its master key.
std::string seal(environment::state const& store, base::secret const& plain, std::string_view of);
// nullopt: sealed under another master key, for something else, or damaged.
std::optional<base::secret> unseal(environment::state const& store, std::string_view sealed,
                                   std::string_view of);

}  // namespace latchkey::store
