// Confirmation: what turns a key off in a cluster is answered once every node with a lease has
// applied it, or after 5 s with the time by which the last lease ends. So an answer without that
// time holds everywhere. Private to the store.
#pragma once

#include <span>

#include "base/time_units.hpp"
#include "store/command.hpp"
#include "store/engine/environment_state.hpp"

namespace latchkey::store {

inline constexpr base::mono_ns confirmation_patience = 5 * base::second;

// Is the answer to this command held until `outcome.position` is confirmed? True also where nothing
// has changed: the key may have been turned off a moment ago, by a row that is not confirmed.
bool needs_confirmation(command const& command, outcome const& outcome);

// Waits on the calling thread for all of them, and sets `effective_by` where it waited in vain. For
// commands of the command line; the log's `on_news` is not used.
void await_confirmation(environment_state& store, std::span<command const> commands,
                        std::span<outcome> outcomes);

}  // namespace latchkey::store
