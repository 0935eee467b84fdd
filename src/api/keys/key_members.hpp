// The members of a key in a body (api.md §4), one by one: nullopt when a member is absent or
// invalid, which is added to the faults of the body.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/frame/checks/validate.hpp"
#include "model/key.hpp"

namespace latchkey::api {

std::optional<std::string> take_name(members& body, bool required);
std::optional<model::environment> take_environment(members& body);
std::optional<model::scope_set> take_scopes(members& body, bool may_be_empty = false);
std::optional<std::vector<model::cidr>> take_allowlist(members& body);
std::optional<std::vector<model::rate_limit>> take_limits(members& body,
                                                          std::vector<base::fault>& faults);

// In a patch nullopt removes a member.
struct metadata_change {
    bool cleared = false;  // `metadata` was null
    std::map<std::string, std::optional<std::string>> changes;
};
metadata_change take_metadata(members& body, std::vector<base::fault>& faults, bool patch);

}  // namespace latchkey::api
