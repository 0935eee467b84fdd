// /auth: a gateway asks whether a request of its client may pass (nginx auth_request, forward_auth,
// ext_authz). The key was accepted and admitted before; this checks a scope and names the key.
#include "api/frame/resource.hpp"
#include "api/frame/route.hpp"
#include "api/gateway/gateway_routes.hpp"
#include "wire/http/target.hpp"

namespace latchkey::api {

namespace {

// From the query, or the segment below the folder. nullopt: none.
std::optional<std::string_view> asked_scope(request_context const& context) {
    auto path = context.request.path;
    if (!path.starts_with(gateway_folder)) return context.query.take("scope");
    path.remove_prefix(gateway_folder.size());
    auto const segment = path.substr(0, path.find('/'));
    return segment == "-" ? std::nullopt : std::optional(segment);
}

}  // namespace

std::optional<api_error> answer_gateway(request_context const& context, http::response& response) {
    auto const& key = context.principal.record();
    auto const scope = asked_scope(context);
    auto const status = context.query.take("limit_status");
    if (status && *status != "403" && *status != "429")
        context.query.refuse("limit_status", base::field_code::not_in_enum, "must be 403 or 429");
    model::scope_set required;
    if (scope && !required.add(*scope))
        context.query.refuse("scope", base::field_code::not_in_enum,
                             model::unknown_scope_detail(*scope));
    if (auto error = context.query.refuse_rest()) return error;
    if (!context.principal.covers(required)) return missing_scope(*scope);
    response.add("X-Auth-Key-Id", key.id);
    response.add("X-Auth-Project", key.project);
    response.add("X-Auth-Scopes", scope_words(context.principal.scopes()));
    response.add("Cache-Control", "no-store");
    return std::nullopt;
}

bool masks_limits(std::string_view raw_query) {
    http::query_cursor cursor(raw_query);
    while (auto const parameter = cursor.next())
        if (parameter->name == "limit_status") return parameter->value == "403";
    return false;
}

}  // namespace latchkey::api
