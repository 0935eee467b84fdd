// What the store as a whole does with kept outcomes.
#include <algorithm>

#include "domain/command.hpp"
#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"
#include "domain/idempotency/kept_outcome.hpp"
#include "domain/idempotency/outcome_kind.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

bool is_late_outcome(std::string_view key, std::string_view, wall_ms now) {
    return base::reader(key).integer<wall_ms>() > now + idempotency_ms;
}

// The index by time has the outcomes that are kept too long; their records hold the time as well.
bool redate_outcome(transaction& txn, std::string_view key, wall_ms now) {
    auto const latest = now + idempotency_ms;
    auto const suffix = key.substr(sizeof(wall_ms));
    auto const outcome_key = key_bytes{tag::kept_outcome}.add(suffix);
    auto const bytes = txn.get(table::index, outcome_key);
    auto outcome = bytes ? decode_kept_outcome(*bytes) : std::nullopt;
    txn.erase(table::index, key_bytes{tag::kept_until}.add(key));
    if (!outcome) return true;
    outcome->expires_at = latest;
    encode(*outcome, txn.scratch);
    txn.put(table::index, outcome_key, txn.scratch);
    txn.put(table::index, kept_until_key(latest, suffix), {});
    return true;
}

constexpr tag outcome_tags[] = {tag::kept_outcome, tag::kept_until};
constexpr time_sweep outcome_sweeps[] = {
    {table::index,
     tag::kept_until,
     is_late_outcome,
     redate_outcome,
     {"outcomes", "outcome under an Idempotency-Key", "outcomes under Idempotency-Keys"}}};

}  // namespace

constinit kind const outcome_kind{
    .tags = outcome_tags, .check = check_kept_outcomes, .sweeps = outcome_sweeps};

}  // namespace latchkey::domain
