// The part of `verify` that looks at events from outside and the secrets of their sources. Private
// to the store.
#pragma once

#include <string>

#include "base/function_ref.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {

// One sentence to `say` for each thing that does not fit together.
void verify_events(environment::state& store, MDB_txn* txn, heads const& heads,
                   base::function_ref<void(std::string)> say);

}  // namespace latchkey::store
