// Reads the configuration of routes that will be removed (settings.hpp).
#pragma once

#include <string_view>

#include "api/frame/settings.hpp"
#include "base/result.hpp"

namespace latchkey::api {

// "GET /api/v1/users since=2026-12-01T00:00:00Z sunset=2027-06-01T00:00:00Z link=https://…": the
// method and the pattern as in the table of routes, then the attributes in any order; `since` is
// required.
base::result<deprecation> parse_deprecation(std::string_view text);

}  // namespace latchkey::api
