// Outcomes under Idempotency-Keys (API §9): looked up by workers and, since one may have been
// written meanwhile, by the transaction again; kept with the write itself; removed by and by.
#include "store/commands.hpp"
#include "store/kept_outcome.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::store {
namespace {

// What a record means to whoever asks at `now`; nothing when its time is over.
std::optional<outcome> outcome_for(idempotency const& once, kept_outcome kept, base::wall_ms now) {
    if (now >= kept.until) return std::nullopt;
    if (kept.request != once.request) return refused(base::problem::idempotency_key_reused);
    kept.answer.replayed = true;
    return std::move(kept.answer);
}

base::wall_ms time_of(std::string_view until_key) {
    base::reader from(until_key.substr(1));
    return from.integer<base::wall_ms>();
}

}  // namespace

std::optional<outcome> recall(transaction& in, idempotency const& once) {
    auto const bytes = in.get(table::index, kept_outcome_key(once.lineage, once.key));
    if (!bytes) return std::nullopt;
    auto kept = decode_kept_outcome(*bytes);
    if (!kept) return refused(base::problem::internal_error);
    return outcome_for(once, std::move(*kept), in.now());
}

std::optional<outcome> snapshot::recall(idempotency const& once, base::wall_ms now) const {
    auto const bytes = state_->get(table::index, kept_outcome_key(once.lineage, once.key));
    if (!bytes) return std::nullopt;
    auto kept = state_->readable(decode_kept_outcome(*bytes));
    if (!kept) return refused(base::problem::internal_error);
    return outcome_for(once, std::move(*kept), now);
}

void keep(transaction& in, idempotency const& once, outcome const& answer) {
    constexpr std::size_t page_bytes = 4096;
    if (!in.space().grow) return;
    auto const at = kept_outcome_key(once.lineage, once.key);
    auto const place = std::string_view(at).substr(1);
    // One whose time is over is still there until its turn to go comes.
    auto const old = in.get(table::index, at);
    auto const before = old ? decode_kept_outcome(*old) : std::nullopt;
    if (before) in.erase(table::index, kept_until_key(before->until, place));
    auto const until = in.now() + idempotency_ms;
    encode(kept_outcome{until, once.request, answer}, in.scratch);
    in.put(table::index, at, in.scratch);
    in.put(table::index, kept_until_key(until, place), {});
    in.weigh(in.scratch.size() / page_bytes);
}

bool has_expired(transaction& in) {
    auto const first = in.first_under(key_bytes{tag::kept_until});
    return first && time_of(*first) <= in.now();
}

bool forget_some(transaction& in, std::size_t most) {
    for (; most != 0; --most) {
        auto const first = in.first_under(key_bytes{tag::kept_until});
        if (!first || time_of(*first) > in.now()) return false;
        auto const place = std::string_view(*first).substr(1 + sizeof(base::wall_ms));
        in.erase(table::index, key_bytes{tag::kept_outcome}.add(place));
        in.erase(table::index, *first);
        in.weigh(1);
    }
    return has_expired(in);
}

}  // namespace latchkey::store
