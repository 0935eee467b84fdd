#include "store/upgrade.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace latchkey::store {
namespace {

int note_version(environment::state& store, MDB_txn* in, std::uint32_t version) {
    std::string schema(schema_magic);
    base::append(schema, version);
    auto const schema_name = key_bytes{tag::schema};
    auto key = val_of(schema_name), value = val_of(schema);
    if (int const code = ::mdb_put(in, store.dbi(table::index), &key, &value, 0); code != 0)
        return code;
    // The heads begin with it too, and what else they have is the steps'.
    auto const heads_name = key_bytes{tag::heads};
    key = val_of(heads_name);
    if (int const code = ::mdb_get(in, store.dbi(table::index), &key, &value); code != 0)
        return code;
    std::string heads(view_of(value));
    if (heads.empty()) return MDB_CORRUPTED;
    heads[0] = static_cast<char>(version);
    value = val_of(heads);
    return ::mdb_put(in, store.dbi(table::index), &key, &value, 0);
}

}  // namespace

// Version 1 is the first that was released, so nothing leads to it.
std::span<upgrade_step const> upgrade_steps() {
    return {};
}

base::result<void> upgrade(environment::state& store, MDB_txn* in, std::uint32_t from,
                           std::uint32_t to, std::span<upgrade_step const> steps) {
    for (auto version = from; version != to; ++version) {
        auto const step = std::ranges::find(steps, version, &upgrade_step::from);
        if (step == steps.end())
            return base::error{"there is no way from schema version " + std::to_string(version) +
                               " to " + std::to_string(to) +
                               ": an older latchkey may know one, and then this one goes on"};
        if (int const code = step->run(store, in); code != 0)
            return lmdb_error("the store stays at schema version " + std::to_string(from), code);
    }
    if (int const code = note_version(store, in, to); code != 0)
        return lmdb_error("the store stays at schema version " + std::to_string(from), code);
    base::say("brought the store in " + store.directory + " from schema version " +
              std::to_string(from) + " to " + std::to_string(to));
    return {};
}

}  // namespace latchkey::store
