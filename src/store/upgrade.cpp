#include "store/upgrade.hpp"

#include <algorithm>

#include "store/checksum.hpp"

namespace latchkey::store {
namespace {

int note_version(environment_state& store, MDB_txn* txn, std::uint32_t version) {
    auto const dbi = store.dbi(table::index);
    std::string schema(schema_magic);
    base::append(schema, version);
    auto const schema_name = key_bytes{tag::schema};
    auto key = val_of(schema_name), value = val_of(schema);
    if (int const code = ::mdb_put(txn, dbi, &key, &value, 0); code != 0) return code;
    // The record of counters begins with the version too; its other contents are changed by the
    // steps.
    auto const counters_name = key_bytes{tag::counters};
    key = val_of(counters_name);
    if (int const code = ::mdb_get(txn, dbi, &key, &value); code != 0) return code;
    auto const content = content_of(table::index, counters_name, view_of(value));
    if (!content || content->empty()) return MDB_CORRUPTED;
    std::string counters(*content);
    counters[0] = static_cast<char>(version);
    return put_checked(txn, dbi, table::index, counters_name, counters, 0);
}

base::error upgrade_error(environment_state const& store, std::uint32_t version, int code) {
    auto error = lmdb_error(
        "the store in " + store.directory + " stays at schema version " + std::to_string(version),
        code);
    if (code == ENOSPC)
        error.message += ": an upgrade needs as much of the disk again as the store takes";
    return error;
}

}  // namespace

base::result<void> upgrade(environment_state& store, MDB_txn* txn, std::uint32_t version,
                           std::uint32_t target, std::span<upgrade_step const> steps) {
    for (auto next = version; next != target; ++next) {
        auto const step = std::ranges::find(steps, next, &upgrade_step::version);
        if (step == steps.end())
            return base::error{"schema version " + std::to_string(next) +
                               " cannot be upgraded to " + std::to_string(target) +
                               ": upgrade with an older latchkey first, then with this one"};
        if (int const code = step->run(store, txn); code != 0)
            return upgrade_error(store, version, code);
    }
    if (int const code = note_version(store, txn, target); code != 0)
        return upgrade_error(store, version, code);
    return {};
}

}  // namespace latchkey::store
