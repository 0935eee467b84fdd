// JSON Schema 2020-12 in the words of this service: small builders that the descriptions of
// resources are written with, so that bounds come from where they are enforced. Only used when the
// OpenAPI document is made.
//
//     object({{"id", id()}, {"name", text(1, 200)}, {"title?", text(0, 200)}})
//
// A `?` behind a name says that the member may be absent.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace latchkey::api::schema {

using boost::json::object;
using names = std::initializer_list<std::string_view>;
using members = std::initializer_list<std::pair<std::string_view, object>>;

object text(std::int64_t least, std::int64_t most);
object matching(std::string_view pattern);
object time();
object id();
object integer(std::int64_t least, std::int64_t most);
object boolean();
object one_of(names values);
object ref(std::string_view schema);
object list_of(object element, std::int64_t most);
object map_of_text();
object nullable(object of);
object described(object what, std::string_view text);
// Of a parameter. Members of a body have none: generators make them required members then.
object with_default(object what, boost::json::value value);
// That a client sees: it may get members that are not here yet (changes inside v1 only add).
object shown(members list, boost::json::value example);
// That a client sends: other members are refused.
object sent(members list, boost::json::value example);

}  // namespace latchkey::api::schema

namespace latchkey::api {

// Schemas by their names: users, posts, lists of them, problems; keys with what belongs to them;
// events and the secrets of their sources.
boost::json::object resource_schemas();
boost::json::object key_schemas();
boost::json::object event_schemas();
boost::json::object list_schema(std::string_view element);

}  // namespace latchkey::api
