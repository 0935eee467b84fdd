// Routes of changes (api.md §16): the handlers, the operations that describe them, and the rows of
// the table. Constants; any thread.
#pragma once

#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {

std::optional<api_error> list_changes(request_context const&, domain::snapshot const&,
                                      http::response&);
api_result<std::unique_ptr<event_stream>> open_change_stream(request_context const&,
                                                             request_services&, event_reader);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation list_changes{
    .id = "listChanges",
    .group = "Changes",
    .summary = "List what has happened, or follow it as a stream",
    .result = report,
    .response_schema = "ChangeList",
    .query = {"after", "limit_changes", "type"},
    .problems = {changes_expired, not_found},
    .description =
        "In order, each change once. A page may have fewer changes than `limit`, or none: go on "
        "with `next_after` until `has_more` is false. Accepted as `text/event-stream` the same "
        "changes come as Server-Sent Events that do not end: `id` is the sequence, `event` the "
        "type, `data` the change; `Last-Event-ID` takes the place of `after`. A caller without "
        "the scope `*` sees of keys and webhooks only those of its own project."};

}  // namespace operations

inline constexpr route change_routes[] = {
    {http::method::get, "/api/v1/changes", operations::list_changes, model::scope::changes_read,
     read{.run = list_changes, .stream = open_change_stream}},
};

inline constexpr operation_group change_group{"Changes",
                                              "What has happened, as a feed and as a stream."};

namespace schema {

object change_schemas();
std::span<parameter const> change_parameters();

}  // namespace schema

}  // namespace latchkey::api
