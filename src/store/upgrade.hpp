// Schema migration: a table of steps, each from one version to the next, all of them in one
// transaction. Private to store and domain.
//
// The rule: `schema_version` goes up by one with every change of the layout that an older program
// would misread, and a step for it is added here. A store older than the first step, or newer than
// the program, is refused. Only `serve` upgrades, at its start, once it has claimed the store: no
// other process may write by the old schema meanwhile. The record of counters begins with the
// version too, so that a write by a process with the old schema fails there.
#pragma once

#include <cstdint>
#include <span>

#include "store/environment_state.hpp"

namespace latchkey::store {

struct upgrade_step {
    std::uint32_t version;  // the step leads to version + 1
    // Returns 0 or an LMDB code, which undoes everything. The tables were opened by an earlier
    // transaction, so a reader may be begun beside this one.
    int (*run)(environment_state&, MDB_txn* txn);
};

// The steps of the released schemas, which the domain defines (domain/admin/upgrade_steps.cpp).
std::span<upgrade_step const> upgrade_steps();

// Runs all steps and writes the new version. The caller commits; after an error nothing may be
// committed.
base::result<void> upgrade(environment_state& store, MDB_txn* txn, std::uint32_t version,
                           std::uint32_t target, std::span<upgrade_step const> steps);

}  // namespace latchkey::store
