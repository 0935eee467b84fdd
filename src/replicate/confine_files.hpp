// The files that the helper may read, by Landlock: those of the system, and those that the
// connection string, the environment and libpq's defaults name. It may write none. A kernel without
// Landlock leaves files to the rights of the user, which is no error.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "replicate/conninfo.hpp"

namespace latchkey::replicate {

std::vector<std::string> readable_places(std::vector<conninfo::setting> const& settings);
base::result<void> confine_files(std::vector<conninfo::setting> const& settings);

}  // namespace latchkey::replicate
