// Functions that the commands of `latchkey cluster` share.
#pragma once

#include "cli/frame/store_command.hpp"

namespace latchkey::cli {

// latchkey cluster check: this node's store against the engine's state, record by record. The exit
// code.
int check_cluster(store_command const& options);

}  // namespace latchkey::cli
