// Rotating the secret of a webhook, testing it, and sending changes to it again (api.md §17).
#include <algorithm>

#include "domain/audit/audit_log.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/changes/change_record.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/webhooks/webhook_access.hpp"
#include "store/encryption.hpp"

namespace latchkey::domain {
namespace {

using base::field_code;
using base::problem;

// Reads a webhook for an action that needs webhooks:write alone; else returns the rejection.
std::optional<outcome> find_usable(transaction& txn, command const& command, model::id id,
                                   webhook_record& record) {
    if (auto rejection = find_webhook(txn, command, id, record, false)) return rejection;
    if (!command.faults.empty()) return reject_invalid(command.faults);
    return check_conditions(command, [&] { return model::tag_of(record.webhook, txn.now()); });
}

struct sequence_range {
    model::id first = 0;
    model::id last = 0;
};

// Which of `sequences` are not kept: those may have been removed, or never have been.
std::vector<base::fault> missing_sequences(std::vector<model::id> const& sequences,
                                           sequence_range const& bounds) {
    std::vector<base::fault> faults;
    for (std::size_t i = 0; i < sequences.size(); ++i)
        if (sequences[i] < bounds.first || sequences[i] > bounds.last)
            faults.push_back({.location = "/sequences/" + std::to_string(i),
                              .code = field_code::reference_not_found,
                              .detail = "names no change that is kept"});
    return faults;
}

// Adjacent sequences become one range.
std::vector<sequence_range> ranges_of(std::vector<model::id> sequences) {
    std::ranges::sort(sequences);
    std::vector<sequence_range> ranges;
    for (auto const each : sequences)
        if (!ranges.empty() && each <= ranges.back().last + 1)
            ranges.back().last = each;
        else
            ranges.push_back({each, each});
    return ranges;
}

// The first kept change at or after a time; beyond the last one, if there is none. Times ascend.
model::id first_since(transaction& txn, sequence_range const& bounds, base::wall_ms time) {
    auto low = bounds.first, high = bounds.last + 1;
    while (low < high) {
        auto const middle = low + (high - low) / 2;
        auto const bytes = txn.get(table::changes, id_key(middle));
        auto const change = bytes ? decode_change(middle, *bytes) : std::nullopt;
        if (!change) return bounds.last + 1;
        change->occurred_at < time ? void(low = middle + 1) : void(high = middle);
    }
    return low;
}

std::optional<outcome> reject_range(std::string_view member) {
    return reject_invalid({{.location = "/" + std::string(member),
                            .code = field_code::out_of_range,
                            .detail = "names no change that is there yet"}});
}

// The ranges to be sent again, or the rejection.
std::optional<outcome> find_ranges(transaction& txn, replay_webhook const& action,
                                   std::vector<sequence_range>& ranges) {
    sequence_range const bounds{txn.first_id(table::changes).value_or(1),
                                txn.last_id(table::changes)};
    if (!action.sequences.empty()) {
        auto faults = missing_sequences(action.sequences, bounds);
        if (!faults.empty()) return reject_invalid(std::move(faults));
        ranges = ranges_of(action.sequences);
        return std::nullopt;
    }
    if (action.start != 0) {
        auto const first = first_since(txn, bounds, action.start);
        auto const end =
            action.bound == 0 ? bounds.last + 1 : first_since(txn, bounds, action.bound);
        if (first >= end) return reject_range("from");
        ranges = {{first, end - 1}};
        return std::nullopt;
    }
    auto const last = action.last == 0 ? bounds.last : std::min(action.last, bounds.last);
    if (action.first > bounds.last) return reject_range("from_sequence");
    if (last < bounds.first) return reject(problem::changes_expired);
    ranges = {{std::max(action.first, bounds.first), last}};
    return std::nullopt;
}

}  // namespace

outcome run(transaction& txn, rotate_webhook_secret const& action, command const& command) {
    webhook_record record;
    if (auto rejection = find_usable(txn, command, action.id, record)) return std::move(*rejection);
    if (auto rejection = check_audit_share(txn, command, audit_project_of(record.webhook)))
        return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    // An unreadable secret is replaced like a missing one.
    auto& webhook = record.webhook;
    bool const overlaps = action.overlap_ms > 0 && decrypt_secrets(txn.store(), record, txn.now());
    auto previous = std::move(record.secrets.front());
    previous.ends_at = webhook.rotation_ends_at = overlaps ? txn.now() + action.overlap_ms : 0;
    record.secrets = {{0, encrypt_secret(txn.store(), webhook.id, action.secret)}};
    if (overlaps) record.secrets.push_back(std::move(previous));
    webhook.public_key = action.public_key;
    webhook.updated_at = txn.now();
    ++webhook.revision;
    put_webhook(txn, record);
    note(txn, command, audit_action::webhook_rotate, webhook, {"secret"});
    auto result = webhook_result_of(txn, std::move(webhook));
    std::get<webhook_outcome>(result.record).secret = action.secret.hmac;
    return result;
}

outcome run(transaction& txn, test_webhook const& action, command const& command) {
    webhook_record record;
    if (auto rejection = find_usable(txn, command, action.id, record)) return std::move(*rejection);
    if (!record.webhook.is_enabled()) return reject(problem::webhook_disabled);
    if (auto rejection = check_changes_recorded(txn)) return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    if (record.webhook.ordered) make_due(txn, action.id, webhook_due_max);
    auto result = webhook_result_of(txn, std::move(record.webhook));
    auto& report = std::get<webhook_outcome>(result.record);
    report.caller = command.caller;
    report.sequence =
        note_change(txn, model::change_type::webhook_test, command.caller, report.entry);
    return result;
}

outcome run(transaction& txn, replay_webhook const& action, command const& command) {
    webhook_record record;
    if (auto rejection = find_usable(txn, command, action.id, record)) return std::move(*rejection);
    if (!record.webhook.is_enabled()) return reject(problem::webhook_disabled);
    if (auto rejection = check_changes_recorded(txn)) return std::move(*rejection);
    std::vector<sequence_range> ranges;
    if (auto rejection = find_ranges(txn, action, ranges)) return std::move(*rejection);
    auto const waiting = read_replays(txn, action.id);
    if (waiting.size() + ranges.size() > model::webhook_replays_max)
        return reject(problem::overloaded,
                      std::to_string(waiting.size()) + " replays of this webhook wait already.");
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    // From the time on, so that no ordinal is used twice, not even by a replay that has ended.
    auto ordinal = static_cast<std::uint64_t>(txn.now());
    if (!waiting.empty()) ordinal = std::max(ordinal, waiting.back().ordinal + 1);
    for (auto const& each : ranges)
        put_replay(txn, action.id, {.ordinal = ordinal++, .next = each.first, .last = each.last});
    auto result = webhook_result_of(txn, std::move(record.webhook));
    auto& report = std::get<webhook_outcome>(result.record);
    report.first = ranges.front().first;
    report.last = ranges.back().last;
    return result;
}

std::size_t bytes_of(replay_webhook const& action) {
    return action.sequences.size() * sizeof(model::id);
}

}  // namespace latchkey::domain
