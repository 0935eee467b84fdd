#include "domain/webhooks/webhook_entries.hpp"

#include "domain/audit/audit_log.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/cascade.hpp"

namespace latchkey::domain {

base::problem read_webhook(transaction& txn, model::id id, webhook_record& record) {
    auto const bytes = txn.get(table::index, webhook_key(id));
    if (!bytes) return base::problem::not_found;
    auto decoded = decode_webhook_record(id, *bytes);
    if (!decoded) return base::problem::internal_error;
    record = std::move(*decoded);
    return base::problem::none;
}

void put_webhook(transaction& txn, webhook_record const& record) {
    encode(record, txn.scratch);
    txn.put(table::index, webhook_key(record.webhook.id), txn.scratch);
}

model::webhook_progress read_progress(transaction& txn, model::id webhook) {
    auto const bytes = txn.find(table::index, webhook_progress_key(webhook));
    return (bytes ? model::decode_webhook_progress(*bytes) : std::nullopt)
        .value_or(model::webhook_progress{});
}

void put_progress(transaction& txn, model::id webhook, model::webhook_progress const& progress) {
    encode(progress, txn.scratch);
    txn.put(table::index, webhook_progress_key(webhook), txn.scratch);
}

webhook_head read_head(transaction& txn) {
    auto const head = decode_webhook_head(txn.get(table::index, key_bytes{tag::webhook_head}));
    if (!head) txn.fail(MDB_CORRUPTED);
    return head.value_or(webhook_head{});
}

void put_head(transaction& txn, webhook_head const& head) {
    encode(head, txn.scratch);
    txn.put(table::index, key_bytes{tag::webhook_head}, txn.scratch);
}

std::optional<model::delivery> find_delivery(transaction& txn, model::id sequence,
                                             model::id webhook) {
    auto const bytes = txn.find(table::deliveries, delivery_key(sequence, webhook));
    return bytes ? decode_delivery(sequence, *bytes) : std::nullopt;
}

void put_delivery(transaction& txn, model::id webhook, model::delivery const& delivery) {
    encode(delivery, txn.scratch);
    txn.put(table::deliveries, delivery_key(delivery.sequence, webhook), txn.scratch);
    auto const entry = pending_of(webhook).add(delivery.sequence);
    bool const is_listed = txn.find(table::index, entry).has_value();
    if (is_listed == (delivery.state == model::delivery_state::pending)) return;
    is_listed ? void(txn.erase(table::index, entry)) : txn.put(table::index, entry, {});
}

void erase_delivery(transaction& txn, model::id sequence, model::id webhook) {
    txn.erase(table::deliveries, delivery_key(sequence, webhook));
    txn.erase(table::index, pending_of(webhook).add(sequence));
}

void make_due(transaction& txn, model::id webhook, std::size_t limit) {
    for (auto const sequence : txn.ids_with_prefix(pending_of(webhook), limit)) {
        auto delivery = find_delivery(txn, sequence, webhook);
        if (!delivery || delivery->next_attempt_at <= txn.now()) continue;
        delivery->next_attempt_at = txn.now();
        put_delivery(txn, webhook, *delivery);
        txn.add_weight(1);
    }
}

std::vector<model::webhook_replay> read_replays(transaction& txn, model::id webhook) {
    std::vector<model::webhook_replay> replays;
    for (auto const ordinal : txn.ids_with_prefix(replays_of(webhook), SIZE_MAX)) {
        auto const bytes = txn.find(table::index, replays_of(webhook).add(ordinal));
        auto const replay =
            bytes ? model::decode_webhook_replay(static_cast<std::uint64_t>(ordinal), *bytes)
                  : std::nullopt;
        if (replay) replays.push_back(*replay);
    }
    return replays;
}

void put_replay(transaction& txn, model::id webhook, model::webhook_replay const& replay) {
    encode(replay, txn.scratch);
    txn.put(table::index, replays_of(webhook).add(replay.ordinal), txn.scratch);
}

void erase_deliveries_of(transaction& txn, model::id sequence) {
    std::vector<model::id> webhooks;
    auto const prefix = id_key(sequence);
    txn.scan(table::deliveries, prefix, [&](std::string_view key, std::string_view) {
        if (!key.starts_with(std::string_view(prefix))) return false;
        webhooks.push_back(read_id(key.substr(sizeof sequence)).value_or(0));
        return true;
    });
    for (auto const each : webhooks) erase_delivery(txn, sequence, each);
    txn.add_weight(webhooks.size());
}

model::id note_change(transaction& txn, model::change_type type, model::id caller,
                      webhook_entry const& entry) {
    if (!txn.records_changes()) return 0;
    encode(entry, txn.scratch);
    note_change(txn, {.type = type,
                      .key_id = caller,
                      .project = audit_project_of(entry.webhook),
                      .subject = entry.webhook.id,
                      .record = txn.scratch});
    return txn.last_id(table::changes);
}

}  // namespace latchkey::domain
