// The tables of a store: opened, created in a new store, or upgraded from an older schema. Private
// to the store.
#pragma once

#include "base/result.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {

// Opens every table and reads the master key. A new store is initialised in one transaction, so of
// two processes that start together one does it. An older schema is an error unless `may_upgrade`.
base::result<void> open_tables(environment_state& store, bool may_upgrade);

}  // namespace latchkey::store
