// When keys were last used, and how much by minute, hour and day (API §4). Counts of one minute are
// added to all three in one transaction, so a day is always the sum of its hours.
#include "store/commands.hpp"
#include "store/key_record.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::store {
namespace {

void note_last_use(transaction& in, key_use const& seen) {
    if (seen.last_used <= last_use_of(in, seen.key)) return;
    std::array<char, 8> value;
    in.put(table::index, key_use_key(seen.key), id_value(seen.last_used, value));
}

void add_usage(transaction& in, key_use const& seen) {
    for (auto const by : model::granularities) {
        auto const at = usage_in(by, model::start_of(by, seen.minute)).add(seen.key);
        auto const bytes = in.get(table::index, at);
        // One that cannot be read must not keep what comes from being counted.
        auto sum = bytes ? model::decode_usage(*bytes).value_or(model::usage{}) : model::usage{};
        encode(sum += seen.counted, in.scratch);
        in.put(table::index, at, in.scratch);
    }
}

}  // namespace

outcome run(transaction& in, note_key_uses const& what, command const&) {
    if (auto const full = no_room(in, true)) return refused(*full);
    in.weigh(what.uses.size() * (1 + model::granularities.size()));
    for (auto const& each : what.uses) {
        if (!in.has(table::index, key_key(each.key))) continue;
        note_last_use(in, each);
        if (each.counted != model::usage{}) add_usage(in, each);
    }
    return {};
}

bool expire_usage(transaction& in, std::size_t most) {
    std::size_t gone = 0;
    for (auto const by : model::granularities) {
        auto const kept = model::first_kept(by, in.now());
        gone += in.erase_range(usage_in(by, 0), usage_in(by, kept), most - gone);
    }
    in.weigh(gone);
    return gone == most;
}

void snapshot::usage(model::id key, model::granularity by, base::wall_ms from, base::wall_ms to,
                     usage_sink each) const {
    for (auto at = model::start_of(by, from); at < to; at += model::length_of(by)) {
        auto const bytes = state_->get(table::index, usage_in(by, at).add(key));
        auto const counted = bytes ? state_->readable(model::decode_usage(*bytes)) : std::nullopt;
        each(at, counted.value_or(model::usage{}));
    }
}

}  // namespace latchkey::store
