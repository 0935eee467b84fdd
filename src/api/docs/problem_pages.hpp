// The pages of problems: what a code means, what to do, an example of it and one of the remedy. Any
// thread.
#pragma once

#include <array>
#include <span>
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
// Problems of all operations of a kind, told once: the pages of operations link to them. An
// operation is of the kind if it has the first code.
struct problem_class {
    std::string_view anchor, title;  // "lists", "of lists"
    std::array<base::problem, 4> codes;
};
std::span<problem_class const> problem_classes();
bool contains(problem_class const& kind, std::string_view code);
// Those with which every operation may be refused, and the classes, as a part of the guide to
// errors.
std::string shared_problems_content(reference const& reference);

// A request, or lines of a shell or a program, that does what the advice says. The environment has
// LATCHKEY_URL and LATCHKEY_KEY.
std::string_view remedy_for(base::problem code);

}  // namespace latchkey::api
