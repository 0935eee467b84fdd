// What the store as a whole does with changes.
#include <algorithm>

#include "domain/changes/change_kind.hpp"
#include "domain/changes/change_record.hpp"
#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

bool is_late_change(change_view const& change, wall_ms now) {
    return change.occurred_at > now;
}

// The records of changes stay as they were told.
void redate_change(transaction& txn, change_view change, wall_ms now) {
    clamp(change.occurred_at, now);
    encode(change, txn.scratch);
    txn.put(table::changes, id_key(change.sequence), txn.scratch);
}

constexpr time_sweep change_sweeps[] = {
    sweep_of<table::changes, decode_change, is_late_change, redate_change>(
        {"changes", "change", "changes"})};

}  // namespace

constinit kind const change_kind{.check = check_changes, .sweeps = change_sweeps};

}  // namespace latchkey::domain
