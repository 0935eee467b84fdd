// /auth: a gateway asks whether a client's request may pass (nginx auth_request, forward_auth,
// ext_authz). The key was accepted and admitted before; here is what is left: a scope, and who it
// is.
#include "api/handlers.hpp"
#include "api/resource.hpp"
#include "http/target.hpp"

namespace latchkey::api {

std::optional<trouble> answer_gateway(call const& of, http::response& answer) {
    auto const& key = of.who.record();
    auto const scope = of.query.take("scope");
    auto const status = of.query.take("limit_status");
    if (auto wrong = of.query.refuse_rest()) return wrong;
    if (status && *status != "403" && *status != "429")
        return bad_parameter("limit_status", base::field_code::not_in_enum, "must be 403 or 429");
    model::scope_set wanted;
    if (scope && !wanted.add(*scope))
        return bad_parameter("scope", base::field_code::not_in_enum, "is not a scope");
    if (!key.scopes.covers(wanted))
        return trouble{base::problem::insufficient_scope,
                       "the key lacks the scope " + std::string(*scope),
                       {},
                       *scope};
    std::string scopes;
    for (auto const& name : key.scopes.names()) scopes.append(scopes.empty() ? "" : " ") += name;
    answer.add("X-Auth-Key-Id", key.id);
    answer.add("X-Auth-Project", key.project);
    answer.add("X-Auth-Scopes", scopes);
    answer.add("Cache-Control", "no-store");
    return std::nullopt;
}

bool masks_limits(std::string_view raw_query) {
    http::query_cursor cursor(raw_query);
    while (auto const parameter = cursor.next())
        if (parameter->name == "limit_status") return parameter->value == "403";
    return false;
}

}  // namespace latchkey::api
