#include "domain/webhooks/webhook_access.hpp"

#include "domain/audit/audit_log.hpp"
#include "domain/frame/cascade.hpp"
#include "domain/frame/rejection.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

void disable_webhook(transaction& txn, command const& command, webhook_record& record) {
    auto& webhook = record.webhook;
    if (!webhook.is_enabled()) return;
    webhook.end = model::webhook_end::revoked;
    webhook.disabled_at = webhook.updated_at = txn.now();
    ++webhook.revision;
    put_webhook(txn, record);
    note(txn, command, audit_action::webhook_change, webhook, {"enabled"});
    note_change(txn, model::change_type::webhook_disabled, command.caller,
                {webhook, read_progress(txn, webhook.id)});
    txn.add_weight(1);
}

}  // namespace

std::optional<outcome> find_webhook(transaction& txn, command const& command, model::id id,
                                    webhook_record& record, bool reads_changes) {
    grant_check const grants(txn, command);
    auto const result = read_webhook(txn, id, record);
    if (result == problem::internal_error) return reject(result);
    if (result != problem::none || !grants.can_see(record.webhook.project))
        return reject_missing(command, "There is no webhook " + std::to_string(id) + ".");
    return reads_changes ? check_changes_read(grants) : std::nullopt;
}

std::optional<outcome> check_changes_read(grant_check const& grants) {
    if (grants.allows(model::scope::changes_read)) return std::nullopt;
    return reject(problem::insufficient_scope,
                  "A webhook is sent changes: that takes changes:read.");
}

std::vector<model::id> disable_webhooks_of(transaction& txn, command const& command,
                                           model::id key) {
    std::vector<model::id> disabled;
    for (auto const id : txn.ids_with_prefix(key_bytes{tag::webhook}, SIZE_MAX)) {
        webhook_record record;
        if (read_webhook(txn, id, record) != problem::none || record.webhook.created_by != key)
            continue;
        disable_webhook(txn, command, record);
        disabled.push_back(id);
    }
    return disabled;
}

outcome webhook_result_of(transaction& txn, model::webhook webhook) {
    for (auto& header : webhook.headers) header.second.clear();
    auto const progress = read_progress(txn, webhook.id);
    return {.record = webhook_outcome{.entry = {std::move(webhook), progress}}};
}

}  // namespace latchkey::domain
