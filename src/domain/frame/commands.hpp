// One function for each kind of command: it judges the command against the store's state and writes
// what the command asks for, within a transaction. Each checks in the order of api.md §3: faults,
// existence, conditions, conflicts, capacity. Commands are const, since a group that fails is
// applied again. Defined in user_commands.cpp, post_commands.cpp, key_commands.cpp, key_states.cpp,
// rotation.cpp, usage.cpp, key_times.cpp, event_commands.cpp, event_secret_commands.cpp,
// webhook_commands.cpp, webhook_actions.cpp and webhook_deliveries.cpp. Private to the domain.
#pragma once

#include "domain/command.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// `command` carries the caller, the faults and the conditions. The outcome counts only if
// `txn.ok()` afterwards.
outcome run(transaction& txn, create_user const& action, command const& command);
outcome run(transaction& txn, change_user const& action, command const& command);
outcome run(transaction& txn, delete_user const& action, command const& command);
outcome run(transaction& txn, create_post const& action, command const& command);
outcome run(transaction& txn, change_post const& action, command const& command);
outcome run(transaction& txn, delete_post const& action, command const& command);
outcome run(transaction& txn, create_key const& action, command const& command);
outcome run(transaction& txn, change_key const& action, command const& command);
outcome run(transaction& txn, rotate_key const& action, command const& command);
outcome run(transaction& txn, deactivate_key const& action, command const& command);
outcome run(transaction& txn, reactivate_key const& action, command const& command);
outcome run(transaction& txn, end_sessions const& action, command const& command);
outcome run(transaction& txn, note_key_uses const& action, command const& command);
outcome run(transaction& txn, note_key_times const& action, command const& command);
outcome run(transaction& txn, receive_event const& action, command const& command);
outcome run(transaction& txn, put_event_secret const& action, command const& command);
outcome run(transaction& txn, delete_event_secret const& action, command const& command);
outcome run(transaction& txn, create_webhook const& action, command const& command);
outcome run(transaction& txn, change_webhook const& action, command const& command);
outcome run(transaction& txn, delete_webhook const& action, command const& command);
outcome run(transaction& txn, rotate_webhook_secret const& action, command const& command);
outcome run(transaction& txn, test_webhook const& action, command const& command);
outcome run(transaction& txn, replay_webhook const& action, command const& command);
outcome run(transaction& txn, note_deliveries const& action, command const& command);
outcome run(transaction& txn, take_delivery_lease const& action, command const& command);
outcome run(transaction& txn, refuse const& action, command const& command);
outcome run(transaction& txn, await_position const& action, command const& command);
outcome run(transaction& txn, raise_schema const& action, command const& command);

}  // namespace latchkey::domain
