// The keys that can manage keys (scope keys:write): without one, only the command line beside the
// store can. One thread.
#pragma once

#include <vector>

#include "cli/keys/keys_backend.hpp"

namespace latchkey::cli {

// Asks before these keys are turned off where none that can manage keys would remain. A refusal:
// it was not confirmed, or the keys cannot be read.
std::optional<refusal> refuse_last_managing(keys_backend& keys, std::vector<model::id> const& ids,
                                            bool is_confirmed);

}  // namespace latchkey::cli
