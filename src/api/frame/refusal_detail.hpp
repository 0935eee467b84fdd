// The details of refusals that name what was seen and what is accepted (api.md §11). Any thread.
#pragma once

#include <string>
#include <vector>

#include "api/frame/settings.hpp"
#include "base/problem.hpp"

namespace latchkey::api {

// "name is required; email must be an email address.": the first faults in words, and how many more
// there are. Empty without faults.
std::string summary_of(std::vector<base::fault> const& faults);

// The limit that a request exceeded, of `body_too_large` (whose limit is the argument),
// `uri_too_long` and `headers_too_large`; empty for other problems.
std::string limit_detail(base::problem problem, settings const& settings,
                         std::size_t body_bytes_max);

}  // namespace latchkey::api
