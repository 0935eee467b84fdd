// Confirmation: in a cluster a change of a key, or of the secret of a source of events, is answered
// once every node with a lease has applied it. What turns something off (a key; events that the new
// secret has not signed) waits 5 s, then its answer names the time by which the last lease ends, so
// that one without that time holds everywhere; what turns something on waits 1 s. Private to the
// store.
#pragma once

#include <span>

#include "base/time_units.hpp"
#include "domain/command.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {

// The kind of change for which the answer to a command waits until `position_to_confirm` is
// confirmed. `off` also where nothing has changed: the key may have been turned off a moment ago,
// by an unconfirmed row.
enum class key_switch : std::uint8_t { none, on, off };
key_switch switch_of(command const& command, outcome const& outcome);

constexpr base::mono_ns confirmation_patience(key_switch kind) {
    return kind == key_switch::on ? base::second : 5 * base::second;
}

// The position that has to be confirmed for the command: that of its row or, where it has changed
// nothing, that of the last row that has changed a key here.
std::uint64_t position_to_confirm(environment_state const& store, outcome const& outcome);

// Waits on the calling thread for all of them, and sets `effective_by` where it waited in vain. For
// commands of the command line; the log's `on_arrival` is not used.
void await_confirmation(environment_state& store, std::span<command const> commands,
                        std::span<outcome> outcomes);

// Says by when an outcome that was not confirmed holds on every node.
void name_lease_end(environment_state const& store, outcome& outcome);

}  // namespace latchkey::domain
