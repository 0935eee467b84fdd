// The members of a webhook in a body (api.md §17), one by one: nullopt when a member is absent or
// invalid, which is added to the faults of the body.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/frame/checks/validate.hpp"
#include "domain/command.hpp"
#include "model/cidr.hpp"

namespace latchkey::api {

// `allowed`: networks that are not public and may be reached nevertheless.
std::optional<std::string> take_url(members& body, bool required,
                                    std::span<model::cidr const> allowed);
std::optional<std::vector<std::string>> take_types(members& body);
std::optional<std::string> take_description(members& body);  // null: empty
std::optional<bool> take_boolean(members& body, std::string_view name);
std::optional<std::uint32_t> take_rate(members& body);  // null: 0
std::optional<domain::webhook_signatures> take_signatures(members& body);

struct header_changes {
    bool cleared = false;  // `headers` was null
    std::vector<domain::header_change> changes;
};
// In a patch null removes a field, and the mask keeps its value.
header_changes take_headers(members& body, std::vector<base::fault>& faults, bool patch);

}  // namespace latchkey::api
