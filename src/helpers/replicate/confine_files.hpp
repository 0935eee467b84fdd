// The files that the helper may read (base/system/file_access.hpp): those of the system, and those
// that the connection string, the environment and libpq's defaults name.
#pragma once

#include <string>
#include <vector>

#include "helpers/replicate/conninfo.hpp"

namespace latchkey::replicate {

std::vector<std::string> readable_places(std::vector<conninfo::setting> const& settings);

}  // namespace latchkey::replicate
