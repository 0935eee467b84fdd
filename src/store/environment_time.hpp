// Store time (time.hpp) when a store is opened. Private to the store.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "store/environment_options.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {

// The time of the last write, read in a transaction of its own; 0: none yet, or unreadable.
base::wall_ms last_write(environment_state const& store);

// Starts store time when the store is opened, and logs what is unusual about it. An error: the last
// write lies too far ahead of the clock and `options.any_time` is not set.
base::result<void> begin_time(environment_state& store, environment_options const& options);

// The error of a store whose last write lies too far ahead of the clock; nullopt: it does not.
std::optional<base::error> time_ahead_error(environment_state const& store,
                                            base::wall_ms last_write, base::wall_ms clock);

}  // namespace latchkey::store
