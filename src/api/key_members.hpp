// The members of a key in a body (API §4), one by one: each notes what is wrong with it and gives
// nullopt when it is absent or wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/validate.hpp"
#include "model/key.hpp"

namespace latchkey::api {

std::optional<std::string> take_name(members& body, bool required);
std::optional<model::environment> take_environment(members& body);
std::optional<model::scope_set> take_scopes(members& body, bool may_be_empty = false);
std::optional<base::wall_ms> take_time(members& body, std::string_view name);  // 0: null
std::optional<std::vector<model::cidr>> take_allowlist(members& body);
std::optional<std::vector<model::rate_limit>> take_limits(members& body,
                                                          std::vector<base::fault>& faults);

// In a patch a member of nullopt goes.
struct metadata_change {
    bool cleared = false;  // it was null
    std::map<std::string, std::optional<std::string>> changes;
};
metadata_change take_metadata(members& body, std::vector<base::fault>& faults, bool patch);

}  // namespace latchkey::api
