// Options that are times. Main thread.
#pragma once

#include "cli/frame/cli11_names.hpp"

namespace latchkey::cli {

// Lets an option of text take a day, such as 2026-01-02, for its beginning in UTC. Whether any
// other text is a time is left to who reads it.
CLI::Option* take_time(CLI::Option* option);

}  // namespace latchkey::cli
