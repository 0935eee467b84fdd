// Routes of external events and of the secrets of their sources (api.md §12): the handlers, the
// operations that describe them, and the rows of the table. Constants; any thread.
#pragma once

#include "api/events/event_json.hpp"
#include "api/events/event_secret_json.hpp"
#include "api/frame/record_kind.hpp"
#include "api/frame/resource.hpp"
#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {

std::optional<api_error> list_events(request_context const&, domain::snapshot const&,
                                     http::response&);
std::optional<api_error> get_event(request_context const&, domain::snapshot const&,
                                   http::response&);
api_result<domain::command> plan_receive_event(request_context const&);
void answer_event_received(settings const&, domain::outcome const&, http::response&);
// Secrets of event sources (event_secrets.cpp).
std::optional<api_error> list_event_sources(request_context const&, domain::snapshot const&,
                                            http::response&);
std::optional<api_error> get_event_secret(request_context const&, domain::snapshot const&,
                                          http::response&);
api_result<domain::command> plan_put_event_secret(request_context const&);
api_result<domain::command> plan_delete_event_secret(request_context const&);
void answer_event_secret(settings const&, domain::outcome const&, http::response&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation list_events{.id = "listEvents",
                                       .group = "Events",
                                       .summary = "List external events",
                                       .result = list,
                                       .response_schema = "EventList",
                                       .query = {"source"}};
inline constexpr operation list_event_sources{
    .id = "listEventSources",
    .group = "Events",
    .summary = "List the sources of events",
    .result = report,
    .response_schema = "EventSourceList",
    .query = {"after_source", "limit_sources"},
    .description = "Those that have a secret or events, in the order of their names."};
inline constexpr operation get_event{.id = "getEvent",
                                     .group = "Events",
                                     .summary = "Get an event",
                                     .result = report,
                                     .response_schema = "Event",
                                     .problems = {not_found}};
inline constexpr operation receive_event{
    .id = "receiveEvent",
    .group = "Events",
    .summary = "Receive an event of an external service",
    .result = accepted,
    .response_schema = "EventReceipt",
    .request_schema = "EventPayload",
    .problems = {not_found, signature_invalid},
    .description =
        "If the source has a secret, the request must be signed with it. A delivery that is "
        "repeated within 24 hours gets the first response and is kept once. The scope "
        "`events:write:SOURCE` is enough for that source, and a key with no other scope may always "
        "come by query."};
inline constexpr operation get_event_secret{.id = "getEventSecret",
                                            .group = "Events",
                                            .summary = "Get the signature settings of a source",
                                            .result = report,
                                            .response_schema = "EventSecret",
                                            .problems = {not_found}};
inline constexpr operation put_event_secret{
    .id = "putEventSecret",
    .group = "Events",
    .summary = "Set or replace the secret of a source",
    .result = created,
    .response_schema = "SetEventSecret",
    .request_schema = "NewEventSecret?",
    .problems = {not_found},
    .description = "From then on the events of the source must be signed.",
    .is_confirmed = true};
inline constexpr operation delete_event_secret{
    .id = "deleteEventSecret",
    .group = "Events",
    .summary = "Remove the secret of a source",
    .result = deleted,
    .problems = {not_found},
    .description = "From then on its events need no signature."};

}  // namespace operations

inline constexpr route event_routes[] = {
    {http::method::get, "/api/v1/events", operations::list_events, model::scope::events_read,
     read{list_events}},
    {http::method::get, "/api/v1/events/sources", operations::list_event_sources,
     model::scope::events_manage, read{list_event_sources}},
    {http::method::get, "/api/v1/events/{id}", operations::get_event, model::scope::events_read,
     read{get_event}, true},
    {http::method::post, "/api/v1/events/{event_source}", operations::receive_event,
     model::scope::events_write,
     write{.plan = plan_receive_event, .answer = answer_event_received, .external = true}, true},
    {http::method::get, "/api/v1/events/{event_source}/secret", operations::get_event_secret,
     model::scope::events_manage, read{get_event_secret}},
    {http::method::put, "/api/v1/events/{event_source}/secret", operations::put_event_secret,
     model::scope::events_manage, write{plan_put_event_secret, answer_event_secret}},
    {http::method::delete_, "/api/v1/events/{event_source}/secret", operations::delete_event_secret,
     model::scope::events_manage, write{plan_delete_event_secret, answer_deleted, false}},
};

inline constexpr operation_group event_group{"Events", "Deliveries of external services."};

inline constexpr sent_change event_changes[] = {
    {model::change_type::event_received, "An event from outside was stored"},
};
inline constexpr record_kind event_records{.schema = "EventChange",
                                           .record = "Event",
                                           .append = append_changed_event,
                                           .changes = event_changes};

inline constexpr sent_change event_secret_changes[] = {
    {model::change_type::event_secret_changed,
     "The secret of a source of events was set or removed"},
};
inline constexpr record_kind event_secret_records{.schema = "EventSecretChange",
                                                  .record = "SecretChange",
                                                  .append = append_secret_change,
                                                  .changes = event_secret_changes};

namespace schema {

object event_schemas();
std::span<parameter const> event_parameters();

}  // namespace schema

}  // namespace latchkey::api
