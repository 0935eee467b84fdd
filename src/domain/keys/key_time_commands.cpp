// Records key events caused by time alone (api.md §16). Whoever submits the command has found in a
// snapshot that some may be due; here it is decided.
#include "domain/changes/change_log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/keys/key_notice.hpp"

namespace latchkey::domain {

// One that tells much leaves the rest of its keys to a later one.
outcome run(transaction& txn, note_key_times const& action, command const&) {
    if (auto rejection = check_changes_recorded(txn)) return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);
    begin_key_times(txn);
    std::size_t change_bytes = 0;
    for (auto const id : action.keys) {
        if (change_bytes > key_times_bytes_max) break;
        auto const bytes = txn.find(table::index, key_key(id));
        auto const key = bytes ? model::decode_key(id, *bytes) : std::nullopt;
        if (key) change_bytes += tell_times(txn, *key);
        txn.add_weight(1);
    }
    return {};
}

std::size_t bytes_of(note_key_times const& action) {
    return action.keys.size() * sizeof(model::id);
}

}  // namespace latchkey::domain
