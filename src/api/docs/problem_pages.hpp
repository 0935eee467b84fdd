// The pages of problems: what a code means, what to do, an example of it and one of the remedy. Any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "api/docs/reference.hpp"
#include "base/problem.hpp"

namespace latchkey::api {

// `base_url` as in the settings.
std::string problem_content(reference const& reference, base::problem_entry const& problem,
                            std::string_view base_url);
// All of them, by status.
std::string problem_list_content();
// Those with which every operation may be refused, as a part of the guide to errors.
std::string shared_problems_content(reference const& reference);

// A request, or lines of a shell or a program, that does what the advice says. The environment has
// LATCHKEY_URL and LATCHKEY_KEY.
std::string_view remedy_for(base::problem code);

}  // namespace latchkey::api
