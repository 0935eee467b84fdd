// Routes of the audit log (api.md §13): the handlers, the operations that describe them, and the
// rows of the table. Constants; any thread.
#pragma once

#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {

std::optional<api_error> list_audit(request_context const&, domain::snapshot const&,
                                    http::response&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation list_audit{
    .id = "listAudit",
    .group = "Audit",
    .summary = "List the changes of keys and secrets",
    .result = list,
    .response_schema = "AuditList",
    .query = {"project", "audit_action", "audit_key", "audit_from", "audit_to"},
    .description =
        "A caller without the scope `*` sees the entries of its own project and, if it may read "
        "events or manage their secrets, those about secrets, which belong to no project."};

}  // namespace operations

inline constexpr route audit_routes[] = {
    {http::method::get, "/api/v1/audit", operations::list_audit, model::scope::audit_read,
     read{list_audit}},
};

inline constexpr operation_group audit_group{"Audit", "The changes of keys and secrets."};

namespace schema {

object audit_schemas();
std::span<parameter const> audit_parameters();

}  // namespace schema

}  // namespace latchkey::api
