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

}  // namespace latchkey::api::schema

namespace latchkey::api {

// Schemas by their names: of users, posts, lists and problems; of keys; of usage, the
// service and sessions; of events and their secrets; of changes; of webhooks.
boost::json::object resource_schemas();
boost::json::object key_schemas();
boost::json::object usage_schemas();
boost::json::object event_schemas();
boost::json::object change_schemas();
boost::json::object webhook_schemas();
// Adds those of the changes of each kind of record; `schemas` has those of all records.
void add_sent_schemas(boost::json::object& schemas);
// What the service itself sends: the `webhooks` of the document. The examples of changes are made
// of those of records.
boost::json::object sent_requests(boost::json::object const& schemas);
// The parameters of all of these requests, and what holds for each of them.
inline constexpr std::string_view sent_fields[] = {"webhook-id", "webhook-timestamp",
                                                   "webhook-signature"};
inline constexpr std::string_view about_sent_changes =
    "Posted to the URL of a webhook, in the form of Standard Webhooks: the signatures are over "
    "`webhook-id.webhook-timestamp.body`. Verify one of them, answer 2xx within 20 s, and ignore a "
    "`webhook-id` that was received before.";
boost::json::object list_schema(std::string_view element);
// A change of that type (empty: any), with a record of the schema `data`.
boost::json::object change_schema(std::string_view type, boost::json::object data);

}  // namespace latchkey::api
