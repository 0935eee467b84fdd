#include "store/write/webhook_access.hpp"

#include "store/records/rejection.hpp"

namespace latchkey::store {

using base::problem;

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

std::optional<outcome> check_changes_recorded(transaction& txn) {
    if (txn.records_changes()) return std::nullopt;
    if (!txn.store().records_changes)
        return reject(problem::not_found, "Changes are not recorded here, so none can be sent.");
    return reject(problem::behind, "Changes are not recorded by all nodes yet.");
}

outcome webhook_result_of(transaction& txn, model::webhook webhook) {
    for (auto& header : webhook.headers) header.second.clear();
    auto const progress = read_progress(txn, webhook.id);
    return {.record = webhook_outcome{.entry = {std::move(webhook), progress}}};
}

}  // namespace latchkey::store
