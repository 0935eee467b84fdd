// Values in the exports of other systems, whose form depends on the driver that wrote them: a truth
// may be true, 1 or "1". What has no known form is an error, never taken for what is absent, since
// a key that is off would come in as on. Errors are sentences about "its NAME". Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cli/frame/json.hpp"

namespace latchkey::cli {

// The name as a column has it: "deletedAtM" and "DELETED_AT_M" are "deleted_at_m".
std::string column_name(std::string_view name);
// The object with the names of columns. The error: two spellings of one name differ.
base::result<json_object> by_column_names(json_object const& object);

// true, 1, "1", "true" and their opposites. nullopt: absent.
base::result<std::optional<bool>> truth_in(json_object const& object, std::string_view name);
// 5, 5.0 or "5". nullopt: absent or null; so below.
base::result<std::optional<std::int64_t>> whole_number_in(json_object const& object,
                                                          std::string_view name);
// Milliseconds since 1970, "2030-01-31", "2030-01-31 23:59:59.999" (in UTC), or RFC 3339.
base::result<std::optional<base::wall_ms>> time_in(json_object const& object,
                                                   std::string_view name);

// A sentence, if a member says that what it belongs to is off or ends, in whatever words:
// "enabled": 0, "revokedAt": "…". Members that `others` names are read elsewhere.
std::string end_in(json_object const& object, std::initializer_list<std::string_view> others = {});

}  // namespace latchkey::cli
