// Appends entries to the audit log. Private to the store.
#pragma once

#include "model/webhook.hpp"
#include "store/command.hpp"
#include "store/engine/transaction.hpp"
#include "store/records/audit.hpp"

namespace latchkey::store {

// Appends one entry about a key, the secret of a source of events, or a webhook. `command` has the
// caller and the address.
void note(transaction& transaction, command const& command, audit_action action,
          model::key const& key, std::vector<std::string> fields);
void note(transaction& transaction, command const& command, audit_action action,
          std::string_view source, std::vector<std::string> fields);
void note(transaction& transaction, command const& command, audit_action action,
          model::webhook const& webhook, std::vector<std::string> fields);

}  // namespace latchkey::store
