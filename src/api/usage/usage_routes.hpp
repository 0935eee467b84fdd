// Routes of the usage of keys (api.md §4): the handlers, the operations that describe them, and
// the rows of the table. Constants; any thread.
#pragma once

#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {

std::optional<api_error> get_usage(request_context const&, domain::snapshot const&,
                                   http::response&);
std::optional<api_error> list_usage(request_context const&, domain::snapshot const&,
                                    http::response&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation get_usage{
    .id = "getUsage",
    .group = "Keys",
    .summary = "Get the usage of a key",
    .result = report,
    .response_schema = "Usage",
    .query = {"from", "to", "granularity"},
    .description =
        "A point for every minute, hour or day from the one that contains `from` to the last that "
        "begins before `to`, at most 1440. Kept are 24 hours of minutes, 31 days of hours and 400 "
        "days; older points are left out. Requests are counted within 5 seconds."};
inline constexpr operation list_usage{
    .id = "listUsage",
    .group = "Keys",
    .summary = "Get the usage of many keys",
    .result = report,
    .response_schema = "UsageOfKeys",
    .query = {"key_id", "top", "from", "to", "granularity"},
    .problems = {conflicting_parameters},
    .description =
        "Of the keys that `key_id` names, or of the `top` busiest, and the sum: of those that are "
        "named, or of all keys that the caller sees. Keys that it does not see are left out. "
        "`complete` is false when there was more than one request reads; then ask for less time."};

}  // namespace operations

inline constexpr route usage_routes[] = {
    {http::method::get, "/api/v1/keys/{id}/usage", operations::get_usage, model::scope::usage_read,
     read{get_usage}},
    {http::method::get, "/api/v1/usage", operations::list_usage, model::scope::usage_read,
     read{list_usage}},
};

namespace schema {

object usage_schemas();
std::span<parameter const> usage_parameters();

}  // namespace schema

}  // namespace latchkey::api
