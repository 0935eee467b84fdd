// Who may serve a data directory: whoever holds the lock on its `server.lock`. Private to the
// store.
#pragma once

#include <string>

#include "base/result.hpp"

namespace latchkey::store {

// The descriptor that holds the claim until it is closed; fails with a sentence that names the
// process that has it.
base::result<int> claim_directory(std::string const& directory);

bool is_claimed(std::string const& directory);

}  // namespace latchkey::store
