// The checks with which commands about one webhook begin. Private to the domain.
#pragma once

#include "domain/keys/grant_check.hpp"
#include "domain/webhooks/webhook_entries.hpp"

namespace latchkey::domain {

// Reads the webhook if the caller may see it, and has changes:read where it `reads_changes`; else
// returns the rejection.
std::optional<outcome> find_webhook(transaction& txn, command const& command, model::id id,
                                    webhook_record& record, bool reads_changes);
// The rejection of a caller that may not read changes.
std::optional<outcome> check_changes_read(grant_check const& grants);

// The outcome with the webhook and its progress, without the values of its header fields.
outcome webhook_result_of(transaction& txn, model::webhook webhook);

}  // namespace latchkey::domain
