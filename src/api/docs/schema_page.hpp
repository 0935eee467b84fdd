// The page of all schemas: members, bounds and an example of each. Any thread.
#pragma once

#include <string>

#include "api/docs/reference.hpp"

namespace latchkey::api {

std::string schemas_content(reference const& reference);

}  // namespace latchkey::api
