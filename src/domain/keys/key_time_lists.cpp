// Which keys time has brought something about that is not told yet (api.md §16).
#include "domain/frame/id_walk.hpp"
#include "domain/keys/key_notice.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {
namespace {

base::wall_ms told_until(snapshot_state& state, model::id id) {
    auto const bytes = state.get(table::index, key_notice_key(id));
    return bytes ? decode_key_notice(*bytes).value_or(key_notice{}).told_until : 0;
}

}  // namespace

// The last use, and what was told, are looked up only where something could be due: the one can
// only put it off, the other only take it away.
untold_times snapshot::keys_with_untold_times(model::id last_key, std::size_t count) const {
    auto& state = *state_;
    auto const now = time();
    auto const bytes = state.get(table::index, key_bytes{tag::key_notice});
    auto const begin = bytes ? read_id(*bytes).value_or(now) : now;
    untold_times result{.has_begun = bytes.has_value()};
    id_walk walk(state, table::index, key_bytes{tag::key});
    bool more = walk.at_or_above(last_key + 1);
    for (; more && count != 0; more = walk.next(), --count) {
        result.last = walk.id();
        auto const content = walk.content();
        auto const key = content ? model::decode_key(walk.id(), *content) : std::nullopt;
        if (!key) continue;
        auto const start = std::max(begin, key->created_at);
        auto times = times_of(*key, 0, start, now, state.store.key_times);
        if (times.next <= now)
            times = times_of(*key, last_use(key->id), std::max(start, told_until(state, key->id)),
                             now, state.store.key_times);
        result.next = std::min(result.next, times.next);
        if (times.next <= now) result.keys.push_back(key->id);
    }
    if (!more) result.last = 0;
    return result;
}

}  // namespace latchkey::domain
