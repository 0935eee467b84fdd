// The optional bodies that actions of several capabilities take. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/frame/api_error.hpp"
#include "wire/http/request.hpp"

namespace latchkey::api {

// How many seconds a replaced secret stays valid: a day, unless the body says it.
api_result<std::int64_t> read_overlap(http::request const& request,
                                      std::vector<base::fault>& faults);
// An action that takes no members.
std::optional<api_error> read_nothing(http::request const& request,
                                      std::vector<base::fault>& faults);

}  // namespace latchkey::api
