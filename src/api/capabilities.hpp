// The list of all capabilities: their routes, groups, kinds of records and words, each joined to
// one table when the program is compiled. The order is that of the OpenAPI document. A new
// capability adds itself here, and nowhere else in api: the folders whose headers are included are
// those that are built. Constants; any thread.
#pragma once

#include "api/audit/audit_routes.hpp"
#include "api/changes/change_routes.hpp"
#include "api/events/event_routes.hpp"
#include "api/exchange/public_routes.hpp"
#include "api/frame/joined.hpp"
#include "api/gateway/gateway_routes.hpp"
#include "api/keys/key_routes.hpp"
#include "api/posts/post_routes.hpp"
#include "api/service/service_routes.hpp"
#include "api/sessions/session_routes.hpp"
#include "api/usage/usage_routes.hpp"
#include "api/users/user_routes.hpp"
#include "api/webhooks/webhook_routes.hpp"

namespace latchkey::api {

inline constexpr auto all_routes = joined(
    user_routes, post_routes, key_routes, usage_routes, service_routes, session_routes,
    audit_routes, change_routes, event_routes, webhook_routes, gateway_routes, public_routes);

inline constexpr operation_group all_groups[] = {
    user_group,   post_group,    key_group,   session_group, event_group,
    change_group, webhook_group, audit_group, gateway_group, service_group};

// The kinds of records that have changes.
inline constexpr record_kind all_records[] = {user_records,  post_records,         key_records,
                                              event_records, event_secret_records, webhook_records};

namespace schema {

inline constexpr vocabulary all_words[] = {{user_schemas, user_parameters},
                                           {post_schemas, post_parameters},
                                           {common_schemas, common_parameters},
                                           {key_schemas, key_parameters},
                                           {audit_schemas, audit_parameters},
                                           {public_schemas, public_parameters},
                                           {usage_schemas, usage_parameters},
                                           {service_schemas},
                                           {session_schemas},
                                           {event_schemas, event_parameters},
                                           {change_schemas, change_parameters},
                                           {webhook_schemas, webhook_parameters},
                                           {nullptr, gateway_parameters}};

}  // namespace schema

}  // namespace latchkey::api
