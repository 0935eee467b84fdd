// The description of the interface, of which the documents are made (docs/documents.hpp). Any
// thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "api/frame/settings.hpp"

namespace latchkey::api {

// OpenAPI 3.1.0, made of the route table. Where it stays silent: HEAD, OPTIONS, the paths without
// the prefix and 405, 501 and 505 follow from the paths and are described in words; objects of
// responses are open, since changes inside v1 add members, and only bodies of requests are closed.
boost::json::object describe_interface(settings const& settings);

// A parameter or a header field by its name; ends the process when there is none of that name.
boost::json::object parameter_part(std::string_view name);
boost::json::object header_part(std::string_view name);
// The groups of operations.
boost::json::array group_parts();

// Adds the schemas of the changes of each kind of record; `schemas` has those of all records.
void add_sent_schemas(boost::json::object& schemas);
// The requests that the service itself sends: the `webhooks` of the document. The examples of
// changes are made of those of records.
boost::json::object sent_requests(boost::json::object const& schemas);
// The parameters of all of these requests, and what holds for each of them.
inline constexpr std::string_view sent_fields[] = {"webhook-id", "webhook-timestamp",
                                                   "webhook-signature"};
inline constexpr std::string_view about_sent_changes =
    "Posted to the URL of a webhook, in the form of Standard Webhooks: the signatures are over "
    "`webhook-id.webhook-timestamp.body`. Verify one of them, answer 2xx within 20 s, and ignore a "
    "`webhook-id` that was received before.";

}  // namespace latchkey::api
