#include "domain/usage/usage_commands.hpp"

#include "domain/frame/rejection.hpp"
#include "domain/keys/key_notice.hpp"

namespace latchkey::domain {
namespace {

void note_last_use(transaction& txn, key_use const& use) {
    // A damaged entry is overwritten.
    auto const bytes = txn.find(table::index, key_use_key(use.key));
    if (bytes && use.last_used <= read_id(*bytes).value_or(0)) return;
    std::array<char, 8> value;
    txn.put(table::index, key_use_key(use.key), id_value(use.last_used, value));
}

void add_usage(transaction& txn, key_use const& use) {
    for (auto const granularity : model::granularities) {
        auto const key =
            usage_in(granularity, model::start_of(granularity, use.minute)).add(use.key);
        auto const bytes = txn.find(table::index, key);
        // An unreadable entry must not block further counting.
        auto sum = bytes ? model::decode_usage(*bytes).value_or(model::usage{}) : model::usage{};
        encode(sum += use.counted, txn.scratch);
        txn.put(table::index, key, txn.scratch);
    }
}

}  // namespace

outcome run(transaction& txn, note_key_uses const& action, command const&) {
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);
    txn.add_weight(action.uses.size() * (1 + model::granularities.size()) + action.exposed.size());
    for (auto const& each : action.uses) {
        if (!txn.find(table::index, key_key(each.key))) continue;
        note_last_use(txn, each);
        if (each.counted != model::usage{}) add_usage(txn, each);
        if (each.counted.limited != 0) tell_limited(txn, each.key);
    }
    for (auto const& digest : action.exposed) {
        auto const id = txn.find(table::index, digest_key(digest));
        if (id) tell_exposed(txn, read_id(*id).value_or(0));
    }
    return {};
}

bool expire_usage(transaction& txn, std::size_t limit) {
    std::size_t removed = 0;
    for (auto const granularity : model::granularities) {
        auto const cutoff = model::first_retained(granularity, txn.age_time());
        removed += txn.erase_range(usage_in(granularity, 0), usage_in(granularity, cutoff),
                                   limit - removed);
    }
    txn.add_weight(removed);
    return removed == limit;
}

std::size_t bytes_of(note_key_uses const& action) {
    return action.uses.size() * sizeof(key_use) + action.exposed.size() * sizeof(model::digest);
}

}  // namespace latchkey::domain
