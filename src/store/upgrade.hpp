// How a store of an older schema becomes one of this program's: a table of steps, each from one
// version to the next, all of them in one transaction. Private to the store.
//
// The rule: `schema_version` goes up by one with every change of the layout that an older program
// would misread, and a step for it is added here. A store older than the first step, or newer than
// the program, is refused. Only `serve` upgrades, when it starts and is alone.
#pragma once

#include <cstdint>
#include <span>

#include "store/environment_state.hpp"

namespace latchkey::store {

struct upgrade_step {
    std::uint32_t from;                            // it makes from + 1
    int (*run)(environment::state&, MDB_txn* in);  // 0, or an LMDB code, which undoes everything
};

std::span<upgrade_step const> upgrade_steps();

// All steps, and the new version into the store. The caller commits; nothing counts after an error.
base::result<void> upgrade(environment::state& store, MDB_txn* in, std::uint32_t from,
                           std::uint32_t to, std::span<upgrade_step const> steps);

}  // namespace latchkey::store
