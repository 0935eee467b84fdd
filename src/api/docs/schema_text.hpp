// JSON Schema in words: types, bounds and members. Schemas are linked to their pages
// below /docs/schemas. Any thread.
#pragma once

#include <boost/json/fwd.hpp>

#include "api/docs/html.hpp"

namespace latchkey::api {

// `integer, 1 to 100`, `list of User`.
void append_type(html& output, boost::json::object const& schema);
// A list of the members of an object. `is_request`: whether each is required is said.
void append_members(html& output, boost::json::object const& schema, bool is_request);
// Name, type and description, an entry of a <dl>. `note`: "required", "in the query" or empty.
void append_entry(html& output, std::string_view name, std::string_view note,
                  boost::json::object const& schema, std::string_view description);

}  // namespace latchkey::api
