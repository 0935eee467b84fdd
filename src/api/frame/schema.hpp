// Builders of JSON Schema 2020-12, with which resources are described, so that bounds come from the
// constants that enforce them. Only used when the OpenAPI document is made.
//
//     object({{"id", id()}, {"name", text(1, 200)}, {"title?", text(0, 200)}})
//
// A `?` after a name: the member may be absent.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

namespace latchkey::api::schema {

using boost::json::object;
using names = std::initializer_list<std::string_view>;
using members = std::initializer_list<std::pair<std::string_view, object>>;

object text(std::int64_t minimum, std::int64_t maximum);
object not_blank(object text);  // not white space alone; for bodies of requests
object matching(std::string_view pattern);
object time();
object id();
object integer(std::int64_t minimum, std::int64_t maximum);
object boolean();
object one_of(names values);
object ref(std::string_view schema);
object list_of(object element, std::int64_t maximum);
object map_of_text();
object nullable(object schema);
object with_description(object schema, std::string_view text);
// For parameters. Not for members of a body: generators make members with a default required.
object with_default(object schema, boost::json::value value);
// An object of a response: open, since changes inside v1 may add members.
object response_object(members list, boost::json::value example);
// An object of a request: other members are refused.
object request_object(members list, boost::json::value example);

// Counts, and requests by class of status.
object count();
object count_by_status();
// A page of a list.
object list_schema(std::string_view element);
// A change of that type (empty: any), with a record of the schema `data`.
object change_schema(std::string_view type, object data, boost::json::value example);

// A parameter of operations. Its shape is made when the document is.
struct parameter {
    std::string_view name, place;
    object (*shape)();
    std::string_view text;
    std::string_view field = {};  // its name in a request, where that of the component is another
};

// The schemas, by name, and the parameters that the operations of a capability name. Null: none.
struct vocabulary {
    object (*schemas)();
    std::span<parameter const> (*parameters)() = nullptr;
};

// The schemas of lists and problems, and the parameters of all requests.
object common_schemas();
std::span<parameter const> common_parameters();
// Shapes of parameters and fields that several capabilities have.
object project_name();
object source_name();
object search();
object word();
object page_limit();
object request_id();
object position();
// The schema of a read-only member in the body of a change.
object unchanged(object schema);

}  // namespace latchkey::api::schema
