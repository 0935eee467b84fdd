// Checks of the values of the settings `cluster`; the errors name the setting. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace latchkey::server {

// As long as the helper takes it, and without a password; or empty.
base::result<void> validate_postgres(std::string const& text);
// May a node have this name? It is as long as the helper takes it, of visible text.
bool is_node_name(std::string_view name);
// Such a name; or empty.
base::result<void> validate_node_name(std::string const& name);

}  // namespace latchkey::server
