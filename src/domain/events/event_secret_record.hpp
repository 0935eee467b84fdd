// The stored form of the secrets of a source: version 1, their number (1), for each its format (1),
// created_at, ends_at (8 each) and its encrypted bytes after their length (2). Private to the
// store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/events/event_secret.hpp"
#include "domain/store_terms.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {

struct encrypted_secret {
    model::event_format format = model::event_format::standard;
    base::wall_ms created_at = 0;
    base::wall_ms ends_at = 0;
    std::string ciphertext;
};
inline constexpr std::size_t event_secrets_max = 2;

void encode(std::vector<encrypted_secret> const& all, std::string& output);
// The current one first. nullopt: damaged.
std::optional<std::vector<encrypted_secret>> decode_event_secrets(std::string_view bytes);

// Decrypts them, without the previous one if it has ended. nullopt: one cannot be decrypted.
std::optional<event_secrets> decrypt_secrets(environment_state const& store,
                                             std::string_view source,
                                             std::vector<encrypted_secret> const& all,
                                             base::wall_ms now);

}  // namespace latchkey::domain
