// What the store as a whole does with webhooks.
#include <algorithm>

#include "domain/audit/audit.hpp"
#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"
#include "domain/webhooks/webhook_entries.hpp"
#include "domain/webhooks/webhook_kind.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

bool is_late_webhook(std::string_view key, std::string_view value, wall_ms now) {
    auto const record = decode_webhook_record(read_id(key).value_or(0), value);
    return record && std::max(record->webhook.created_at, record->webhook.updated_at) > now;
}

bool redate_webhook(transaction& txn, std::string_view key, wall_ms now) {
    webhook_record record;
    if (read_webhook(txn, read_id(key).value_or(0), record) != base::problem::none) return false;
    auto& webhook = record.webhook;
    auto const advance = webhook.updated_at - now;
    for (auto* const time : {&webhook.created_at, &webhook.updated_at, &webhook.disabled_at})
        clamp(*time, now);
    if (webhook.rotation_ends_at > now) webhook.rotation_ends_at -= advance;
    for (auto& secret : record.secrets)
        if (secret.ends_at > now) secret.ends_at -= advance;
    put_webhook(txn, record);
    return true;
}

bool is_late_progress(std::string_view, std::string_view value, wall_ms now) {
    auto const progress = model::decode_webhook_progress(value);
    return progress && progress->failing_since > now;
}

bool redate_progress(transaction& txn, std::string_view key, wall_ms now) {
    auto const webhook = read_id(key).value_or(0);
    auto progress = read_progress(txn, webhook);
    clamp(progress.failing_since, now);
    put_progress(txn, webhook, progress);
    return true;
}

bool is_late_delivery(std::string_view, std::string_view value, wall_ms now) {
    auto const delivery = decode_delivery(0, value);
    return delivery && !delivery->attempts.empty() && delivery->attempts.back().time > now;
}

// Deliveries that were attempted after now are attempted again now.
bool redate_delivery(transaction& txn, std::string_view key, wall_ms now) {
    base::reader input(key);
    auto const sequence = input.integer<model::id>(), webhook = input.integer<model::id>();
    auto delivery = find_delivery(txn, sequence, webhook);
    if (!delivery) return false;
    for (auto& attempt : delivery->attempts) clamp(attempt.time, now);
    clamp(delivery->next_attempt_at, now);
    put_delivery(txn, webhook, *delivery);
    return true;
}

constexpr tag webhook_tags[] = {tag::webhook_head,   tag::webhook,         tag::webhook_progress,
                                tag::webhook_replay, tag::webhook_pending, tag::delivery_lease};
constexpr time_sweep webhook_sweeps[] = {
    {table::index,
     tag::webhook,
     is_late_webhook,
     redate_webhook,
     {"webhooks", "webhook", "webhooks"}},
    // They belong to their webhooks.
    {table::index, tag::webhook_progress, is_late_progress, redate_progress},
    {table::deliveries,
     std::nullopt,
     is_late_delivery,
     redate_delivery,
     {"deliveries", "delivery to a webhook", "deliveries to webhooks"}}};
constexpr change_name webhook_changes[] = {
    {model::change_type::webhook_disabled, "webhook.disabled"},
    {model::change_type::webhook_test, "webhook.test"}};
constexpr audit_name webhook_audit[] = {{audit_action::webhook_create, "webhook.create"},
                                        {audit_action::webhook_change, "webhook.change"},
                                        {audit_action::webhook_rotate, "webhook.rotate"},
                                        {audit_action::webhook_delete, "webhook.delete"}};

}  // namespace

constinit kind const webhook_kind{.tags = webhook_tags,
                                  .check = check_webhooks,
                                  .sweeps = webhook_sweeps,
                                  .changes = webhook_changes,
                                  .audited = webhook_audit};

void kept_record<webhook_outcome>::append(std::string& output, webhook_outcome const& record) {
    std::string bytes;
    encode(record.entry, bytes);
    base::append(output, record.entry.webhook.id);
    for (auto const each : {record.sequence, record.caller, record.first, record.last})
        base::append(output, each);
    output.append(bytes);
}

std::optional<webhook_outcome> kept_record<webhook_outcome>::read(base::reader& reader) {
    auto const id = reader.integer<model::id>();
    webhook_outcome record;
    for (auto* const each : {&record.sequence, &record.caller, &record.first, &record.last})
        *each = reader.integer<model::id>();
    auto entry = decode_webhook_entry(id, reader.rest());
    if (!reader.ok() || !entry) return std::nullopt;
    record.entry = std::move(*entry);
    return record;
}

}  // namespace latchkey::domain
