// Commands of the service itself about webhooks: it notes the results of deliveries, and takes the
// lease of the node that delivers.
#include <algorithm>

#include "domain/changes/change_log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/webhooks/webhook_access.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using model::delivery_state;

// The stored delivery with what is new of a result. A repeated result adds no attempt twice.
model::delivery merge(std::optional<model::delivery> const& old_delivery,
                      model::delivery const& result) {
    auto merged = result;
    merged.attempts.clear();
    auto const last_attempt = old_delivery && !old_delivery->attempts.empty()
                                  ? old_delivery->attempts.back().time
                                  : base::wall_ms{0};
    auto const is_new = [&](model::delivery_attempt const& attempt) {
        return attempt.time > last_attempt;
    };
    bool const is_over = old_delivery && old_delivery->state != delivery_state::pending;
    bool const begins_anew = is_over && (result.state == delivery_state::pending ||
                                         std::ranges::any_of(result.attempts, is_new));
    if (old_delivery && !begins_anew) merged.attempts = old_delivery->attempts;
    std::ranges::copy_if(result.attempts, std::back_inserter(merged.attempts), is_new);
    return merged;
}

void note_delivery(transaction& txn, model::id webhook, model::delivery const& result) {
    // The change may have been removed meanwhile, and its deliveries with it.
    if (!txn.find(table::changes, id_key(result.sequence)))
        return erase_delivery(txn, result.sequence, webhook);
    auto const old_delivery = find_delivery(txn, result.sequence, webhook);
    auto const merged = merge(old_delivery, result);
    if (!old_delivery || *old_delivery != merged) put_delivery(txn, webhook, merged);
}

void note_replays(transaction& txn, webhook_result const& result) {
    if (result.replays.empty()) return;
    auto const waiting = read_replays(txn, result.webhook);
    for (auto const& each : result.replays) {
        auto const position =
            std::ranges::find(waiting, each.ordinal, &model::webhook_replay::ordinal);
        if (position == waiting.end()) continue;
        auto replay = *position;
        replay.next = std::max(replay.next, each.next);
        if (replay.next > replay.last)
            txn.erase(table::index, replays_of(result.webhook).add(replay.ordinal));
        else if (replay != *position)
            put_replay(txn, result.webhook, replay);
    }
}

void note_end(transaction& txn, webhook_result const& result, webhook_record& record) {
    auto& webhook = record.webhook;
    if (result.end == model::webhook_end::none || !webhook.is_enabled()) return;
    webhook.end = result.end;
    webhook.disabled_at = webhook.updated_at = txn.now();
    ++webhook.revision;
    put_webhook(txn, record);
    note_change(txn, model::change_type::webhook_disabled, 0,
                {webhook, read_progress(txn, webhook.id)});
}

void note_result(transaction& txn, webhook_result const& result) {
    auto const bytes = txn.find(table::index, webhook_key(result.webhook));
    auto record = bytes ? decode_webhook_record(result.webhook, *bytes) : std::nullopt;
    if (!record) return;
    for (auto const& each : result.deliveries) note_delivery(txn, result.webhook, each);
    note_replays(txn, result);
    if (result.progress) {
        auto const old_progress = read_progress(txn, result.webhook);
        auto progress = *result.progress;
        progress.position = std::max(progress.position, old_progress.position);
        if (progress != old_progress) put_progress(txn, result.webhook, progress);
    }
    note_end(txn, result, *record);
}

}  // namespace

outcome run(transaction& txn, note_deliveries const& action, command const&) {
    if (auto rejection = check_changes_recorded(txn)) return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);
    for (auto const& each : action.results) {
        note_result(txn, each);
        txn.add_weight(1 + each.deliveries.size() + each.replays.size());
    }
    return {};
}

outcome run(transaction& txn, take_delivery_lease const& action, command const&) {
    if (action.node.empty() || action.node.size() > node_name_bytes_max || action.length_ms <= 0)
        return reject(problem::internal_error);
    auto const key = key_bytes{tag::delivery_lease};
    auto const bytes = txn.find(table::index, key);
    auto const lease = bytes ? decode_delivery_lease(*bytes) : std::nullopt;
    if (lease && lease->node != action.node && lease->deadline > txn.now())
        return {.record = *lease};
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);
    delivery_lease const own_lease{action.node, txn.now() + action.length_ms};
    encode(own_lease, txn.scratch);
    txn.put(table::index, key, txn.scratch);
    return {.record = own_lease};
}

std::size_t bytes_of(note_deliveries const& action) {
    std::size_t bytes = 0;
    for (auto const& result : action.results) {
        bytes += sizeof result + result.replays.size() * sizeof(model::webhook_replay);
        for (auto const& delivery : result.deliveries) {
            bytes += sizeof delivery;
            for (auto const& attempt : delivery.attempts)
                bytes += sizeof attempt + attempt.error.size() + attempt.response.size();
        }
    }
    return bytes;
}

std::size_t bytes_of(take_delivery_lease const& action) {
    return action.node.size();
}

}  // namespace latchkey::domain
