// Appends entries to the audit log. Private to the domain.
#pragma once

#include <optional>
#include <string_view>

#include "domain/audit/audit.hpp"
#include "domain/command.hpp"
#include "model/webhook.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// The rejection of a command that would add entries of a project (as audit_entry::project has it)
// that has its share of them, as many as are left, or by a key that has made as many as are left of
// that share (api.md §13). What only turns something off is not asked: it follows something that
// was. Nor is the command line.
std::optional<outcome> check_audit_share(transaction& transaction, command const& command,
                                         std::string_view project);
inline std::string_view audit_project_of(model::webhook const& webhook) {
    return webhook.project.empty() ? audit_all_projects : std::string_view(webhook.project);
}

// Appends one entry about a key, the secret of a source of events, or a webhook. `command` has the
// caller and the address.
void note(transaction& transaction, command const& command, audit_action action,
          model::key const& key, std::vector<std::string> fields);
void note(transaction& transaction, command const& command, audit_action action,
          std::string_view source, std::vector<std::string> fields);
void note(transaction& transaction, command const& command, audit_action action,
          model::webhook const& webhook, std::vector<std::string> fields);

}  // namespace latchkey::domain
