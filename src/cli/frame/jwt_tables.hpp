// `[[jwt]]` of the configuration file: a list of tables, which no flag sets.
#pragma once

#include <toml++/toml.h>

#include <vector>

#include "base/result.hpp"
#include "server/process/jwt_settings.hpp"

namespace latchkey::cli {

// `node` is the value of `jwt`. Types and names are checked; what the values may be is checked by
// server::validate. The error names the line.
base::result<void> take_jwt_tables(toml::node const& node,
                                   std::vector<server::jwt_settings>& tables);

}  // namespace latchkey::cli
