#include "domain/changes/change_log.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "domain/frame/cascade.hpp"
#include "domain/frame/rejection.hpp"

namespace latchkey::domain {
namespace {

// In weight: a few milliseconds, for which the next command may have to wait.
constexpr std::size_t expired_changes_per_commit_max = 1024;

void erase_change(transaction& txn, model::id sequence) {
    txn.erase(table::changes, id_key(sequence));
    erase_deliveries_of(txn, sequence);
    txn.add_weight(1);
}

// In a full store a deletion is told without its record, or it would free nothing.
bool is_short(transaction& txn, model::change_type type) {
    bool const is_deletion =
        type == model::change_type::user_deleted || type == model::change_type::post_deleted;
    return is_deletion && !txn.capacity().grow;
}

}  // namespace

void note_change(transaction& txn, change_view change) {
    if (!txn.records_changes()) return;
    if (is_short(txn, change.type)) change.record = {};
    change.sequence = txn.next_change();
    change.occurred_at = txn.now();
    std::string& output = txn.change_scratch;
    encode(change, output);
    txn.append(table::changes, id_key(change.sequence), output);
}

// An unreadable change stays, and so do all after it; `latchkey check` reports it.
bool expire_changes(transaction& txn, std::size_t limit) {
    auto& store = txn.store();
    limit = std::min(limit, expired_changes_per_commit_max);
    auto const last = txn.last_id(table::changes);
    // A transaction cannot use the pages that it frees, so room is made before the store is full.
    auto const bytes_max = store.changes_bytes_max / (txn.capacity().grow ? 1 : 4);
    while (txn.ok()) {
        auto const bytes_used = txn.bytes_of(table::changes);
        store.changes_bytes.store(bytes_used, std::memory_order_relaxed);
        auto const oldest = txn.first_id(table::changes);
        if (!oldest || *oldest >= last) return false;
        auto const bytes = txn.find(table::changes, id_key(*oldest));
        auto const change = bytes ? decode_change(*oldest, *bytes) : std::nullopt;
        if (!change) return false;
        bool const is_old = store.change_retention_ms != 0 &&
                            change->occurred_at <= txn.age_time() - store.change_retention_ms;
        bool const is_beyond = store.changes_max != 0 &&
                               static_cast<std::uint64_t>(last - *oldest) >= store.changes_max;
        bool const is_too_much = bytes_used > bytes_max;
        if (!(is_old || is_beyond || is_too_much) || !txn.capacity().write) return false;
        if (limit == 0) return true;
        --limit;
        if (!is_old && !is_beyond) store.changes_trimmed.fetch_add(1, std::memory_order_relaxed);
        erase_change(txn, *oldest);
    }
    return false;
}

std::optional<outcome> check_changes_recorded(transaction& txn) {
    if (txn.records_changes()) return std::nullopt;
    if (!txn.store().records_changes)
        return reject(base::problem::not_found,
                      "Changes are not recorded here, so none can be sent.");
    return reject(base::problem::behind, "Changes are not recorded by all nodes yet.");
}

}  // namespace latchkey::domain
