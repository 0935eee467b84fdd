// How the secrets of a source are kept: version 1, how many (1), for each its format (1),
// created_at, ends_at (8 each) and its sealed bytes behind their length (2). Private to the store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/environment_state.hpp"
#include "store/event_secret.hpp"

namespace latchkey::store {

struct sealed_secret {
    model::event_format format = model::event_format::standard;
    base::wall_ms created_at = 0;
    base::wall_ms ends_at = 0;
    std::string sealed;
};
inline constexpr std::size_t event_secrets_max = 2;

void encode(std::vector<sealed_secret> const& all, std::string& to);
// The current one first. nullopt: damaged.
std::optional<std::vector<sealed_secret>> decode_event_secrets(std::string_view bytes);

// Unsealed; without the previous one if it has ended. nullopt: one cannot be unsealed.
std::optional<event_secrets> unsealed(environment::state const& store, std::string_view source,
                                      std::vector<sealed_secret> const& all, base::wall_ms now);

}  // namespace latchkey::store
