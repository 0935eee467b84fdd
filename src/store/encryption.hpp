// Secrets at rest: AES-256-GCM (NIST SP 800-38D) under a key derived from the master key. The name
// of the owner is additional data, so that no secret can be swapped for another's. The result is a
// random nonce (12), the ciphertext and the tag (16). Private to store and domain.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/secret.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {

// The store must have its master key. The caller wipes `plain`.
std::string encrypt(environment_state const& store, std::string_view plain, std::string_view owner);
inline std::string encrypt(environment_state const& store, base::secret const& plain,
                           std::string_view owner) {
    return encrypt(store, plain.text(), owner);
}
// nullopt: encrypted under another master key, for another owner, damaged, or longer than a secret.
std::optional<base::secret> decrypt(environment_state const& store, std::string_view ciphertext,
                                    std::string_view owner);
// The same of any size; the caller wipes the result.
std::optional<std::string> decrypt_text(environment_state const& store, std::string_view ciphertext,
                                        std::string_view owner);

}  // namespace latchkey::store
