// Checks of the values of the settings `tracing`; the errors name the setting. Pure functions.
#pragma once

#include <string>

#include "base/result.hpp"

namespace latchkey::server {

// A URL of http or https without a user and password, or empty.
base::result<void> validate_trace_endpoint(std::string const& url);
// 0 to 1.
base::result<void> validate_sample_ratio(double ratio);
// 1 to 255 bytes of visible text.
base::result<void> validate_service_name(std::string const& name);

}  // namespace latchkey::server
