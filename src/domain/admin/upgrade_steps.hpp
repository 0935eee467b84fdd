// The steps that lead from one released schema to the next (store/upgrade.hpp). Private to the
// domain and its tests.
#pragma once

#include "domain/store_terms.hpp"
#include "store/upgrade.hpp"

namespace latchkey::domain {

// A part of the step to version 2: adds the entries about sources of events to the index of those
// without a project, unless they are in it; programs of version 1 wrote none. 0, or an LMDB code.
int index_source_entries(environment_state& store, MDB_txn* txn);

}  // namespace latchkey::domain
