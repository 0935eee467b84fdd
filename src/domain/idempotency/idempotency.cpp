#include "domain/idempotency/idempotency.hpp"

#include "domain/idempotency/kept_outcome.hpp"

namespace latchkey::domain {
namespace {

base::wall_ms time_of(std::string_view until_key) {
    base::reader reader(until_key.substr(1));
    return reader.integer<base::wall_ms>();
}

}  // namespace

std::optional<outcome> find_outcome(transaction& txn, idempotency const& idempotency) {
    auto const bytes =
        txn.get(table::index, kept_outcome_key(idempotency.lineage, idempotency.key));
    if (!bytes) return std::nullopt;
    auto entry = decode_kept_outcome(*bytes);
    if (!entry) return outcome{.problem = base::problem::internal_error};
    return replay(std::move(*entry), idempotency, txn.now());
}

void keep_outcome(transaction& txn, idempotency const& idempotency, outcome const& outcome) {
    constexpr std::size_t page_bytes = 4096;
    if (!txn.capacity().grow) return;
    auto const key = kept_outcome_key(idempotency.lineage, idempotency.key);
    auto const place = std::string_view(key).substr(1);
    // An expired outcome stays under the key until it is removed.
    auto const bytes = txn.get(table::index, key);
    auto const expired = bytes ? decode_kept_outcome(*bytes) : std::nullopt;
    if (expired) txn.erase(table::index, kept_until_key(expired->expires_at, place));
    auto const expires_at = txn.now() + idempotency_ms;
    encode(kept_outcome{expires_at, idempotency.request, outcome}, txn.scratch);
    txn.put(table::index, key, txn.scratch);
    txn.put(table::index, kept_until_key(expires_at, place), {});
    txn.add_weight(txn.scratch.size() / page_bytes);
}

bool has_expired_outcomes(transaction& txn) {
    auto const first = txn.first_key_with_prefix(key_bytes{tag::kept_until});
    return first && time_of(*first) <= txn.age_time();
}

bool expire_outcomes(transaction& txn, std::size_t limit) {
    for (; limit != 0; --limit) {
        auto const first = txn.first_key_with_prefix(key_bytes{tag::kept_until});
        if (!first || time_of(*first) > txn.age_time()) return false;
        auto const place = std::string_view(*first).substr(1 + sizeof(base::wall_ms));
        txn.erase(table::index, key_bytes{tag::kept_outcome}.add(place));
        txn.erase(table::index, *first);
        txn.add_weight(1);
    }
    return has_expired_outcomes(txn);
}

}  // namespace latchkey::domain
