// Routes of what a gateway asks: the handlers, the operations that describe them, and the rows of
// the table. Constants; any thread.
#pragma once

#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {

std::optional<api_error> answer_gateway(request_context const&, http::response&);
bool masks_limits(std::string_view raw_query);  // ?limit_status=403

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation authorize{
    .id = "authorize",
    .group = "Gateway",
    .summary = "Authorize a request for a gateway",
    .result = gateway,
    .query = {"scope", "limit_status"},
    .description =
        "For nginx `auth_request`, `forward_auth` of Caddy and Traefik, Envoy `ext_authz`. "
        "Any method, with the client's header fields passed on; the body, `Accept`, "
        "`Content-Type`, `Expect` and preconditions are ignored."};

}  // namespace operations

inline constexpr route gateway_routes[] = {
    {http::method::get, "/auth", operations::authorize, std::nullopt,
     gateway{answer_gateway, masks_limits}},
};

inline constexpr operation_group gateway_group{"Gateway",
                                               "For proxies that ask whether a request may pass."};

namespace schema {

std::span<parameter const> gateway_parameters();

}  // namespace schema

}  // namespace latchkey::api
