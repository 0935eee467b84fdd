// Routes of the whole service (api.md §18): the handlers, the operations that describe them, and
// the rows of the table. Constants; any thread.
#pragma once

#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {

std::optional<api_error> get_service(request_context const&, request_services&, http::response&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation get_service{
    .id = "getService",
    .group = "Service",
    .summary = "How the whole service does",
    .result = report,
    .response_schema = "ServiceReport",
    .description =
        "Counters since this process started, and the nodes of a cluster as this one knows of "
        "them. `le` is in seconds; null: any duration."};

}  // namespace operations

inline constexpr route service_routes[] = {
    {http::method::get, "/api/v1/service", operations::get_service, model::scope::any,
     action{get_service}},
};

inline constexpr operation_group service_group{"Service", "Needs no key."};

namespace schema {

object service_schemas();

}  // namespace schema

}  // namespace latchkey::api
