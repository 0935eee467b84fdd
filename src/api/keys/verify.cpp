// POST /keys/verify: another service has a key or a JWT validated that it received. The checks are
// those of a request with it, in the order of api.md §3; the response is always a 200.
#include "api/frame/checks/credential.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/request_services.hpp"
#include "api/frame/resource.hpp"
#include "api/keys/key_body.hpp"
#include "api/keys/key_json.hpp"
#include "api/keys/key_routes.hpp"
#include "api/keys/verification.hpp"
#include "auth/bearer_cache.hpp"

namespace latchkey::api {
namespace {

using base::problem;

std::string_view code_of(problem problem) {
    switch (problem) {
        case problem::none:
            return "VALID";
        case problem::key_deactivated:
            return "DEACTIVATED";
        case problem::key_expired:
        case problem::token_expired:
            return "EXPIRED";
        case problem::key_not_yet_active:
        case problem::token_not_yet_valid:
            return "NOT_YET_ACTIVE";
        case problem::ip_not_allowed:
            return "IP_NOT_ALLOWED";
        case problem::insufficient_scope:
            return "INSUFFICIENT_SCOPE";
        case problem::rate_limited:
            return "RATE_LIMITED";
        case problem::route_not_found:
            return "ROUTE_NOT_FOUND";
        default:
            return "NOT_FOUND";
    }
}

// Null: no check refused.
std::string_view check_of(problem problem) {
    switch (problem) {
        case problem::none:
            return "";
        case problem::key_deactivated:
        case problem::key_expired:
        case problem::key_not_yet_active:
        case problem::token_expired:
        case problem::token_not_yet_valid:
            return "state";
        case problem::ip_not_allowed:
            return "address";
        case problem::rate_limited:
            return "rate_limit";
        case problem::route_not_found:
            return "route";
        case problem::insufficient_scope:
            return "scope";
        default:
            return "key";
    }
}

// A token that is right but for its time: whose it is was not asked.
bool is_about_time(problem code) {
    return code == problem::token_expired || code == problem::token_not_yet_valid;
}

auth::verdict authenticate(verify_body const& verification, request_context const& context,
                           request_services& services) {
    auto const* const client = verification.ip ? &*verification.ip : nullptr;
    if (verification.key_id == 0 && services.tokens != nullptr &&
        services.tokens->may_be_token(verification.key))
        return services.tokens->authenticate(verification.key, client, services.snapshot,
                                             context.now, true);
    if (verification.key_id == 0)
        return services.keys.authenticate(verification.key, client, services.snapshot, context.now);
    auto const key = services.snapshot.key(verification.key_id);
    if (!key) return {.problem = problem::key_invalid, .caller = {}};
    return services.keys.authenticate(services.keys.present(key->digest), client, services.snapshot,
                                      context.now);
}

void append_known(std::string& output, auth::principal const& caller, live_limits const* live) {
    auto const& key = caller.record();
    output.append(",\"key_id\":");
    append_number(output, key.id);
    output.append(",\"project\":");
    append_string(output, key.project);
    output.append(",\"environment\":");
    append_string(output, model::name_of(key.environment));
    append_scopes(output, caller.scopes());
    output.append(",\"expires_at\":");
    append_timestamp_or_null(output, caller.ends_at());
    append_metadata(output, key);
    live != nullptr ? append_limits(output, *live) : append_limits(output, key);
    output.push_back('}');
}

void append_unknown(std::string& output) {
    for (auto const* const name :
         {"key_id", "project", "environment", "scopes", "expires_at", "metadata", "rate_limits"})
        output.append(",\"").append(name).append("\":null");
    output.push_back('}');
}

// The verified use counts like a request with that key: VALID as a 2xx, all else as a 4xx. Not with
// a cost of 0, which only looks.
void count_use(request_services& services, model::id key, base::wall_ms now, problem result,
               bool accepted) {
    if (services.uses == nullptr) return;
    auto const status = result == problem::none ? 200u : base::describe(result).status;
    services.uses->count(key, now, status, result == problem::rate_limited);
    if (accepted) services.uses->note(key, now);
}

}  // namespace

bool verifies_project(request_context const& context, std::string_view project) {
    return context.principal.may(model::scope::keys_verify_all) || sees_project(context, project);
}

permission permission_of(auth::principal const& key, http::method method, std::string_view target) {
    auto const path = target.substr(0, target.find('?'));
    auto const query = path.size() == target.size() ? "" : target.substr(path.size() + 1);
    auto const matched = find_route(method, path);
    if (matched.route == nullptr) return {problem::route_not_found, {}};
    if (matched.is_public || matched.gateway) return {};
    auto const& route = *matched.route;
    auto const holds = [&](model::scope scope) {
        return scope == model::scope::events_write ? key.may_send_events_of(matched.variable)
                                                   : key.may(scope);
    };
    auto const* const reading = std::get_if<read>(&route.run);
    auto const* const writing = std::get_if<write>(&route.run);
    auto further = writing != nullptr ? writing->further_scope : std::nullopt;
    if (reading != nullptr && reading->query_scope != nullptr)
        further = reading->query_scope(query);
    for (auto const& scope : {route.scope, further})
        if (scope && !holds(*scope)) return {problem::insufficient_scope, model::name_of(*scope)};
    return {};
}

void append_verification(std::string& output, verification const& verification) {
    auto const result = verification.result;
    output.append(result == problem::none ? "{\"valid\":true" : "{\"valid\":false");
    output.append(",\"code\":");
    append_plain_string(output, code_of(result));
    append_name(output, "check");
    append_string_or_null(output, check_of(result));
    append_name(output, "missing_scope");
    append_string_or_null(output, verification.missing_scope);
    append_name(output, "retry_after_seconds");
    if (result == problem::rate_limited && verification.live != nullptr)
        append_number(output, verification.live->decision.retry_after);
    else
        output.append("null");
    verification.caller != nullptr ? append_known(output, *verification.caller, verification.live)
                                   : append_unknown(output);
}

std::optional<api_error> verify_key(request_context const& context, request_services& services,
                                    http::response& response) {
    // Its key is a credential, though not the caller's.
    wiped_at_end body(context.request.body);
    std::vector<base::fault> faults;
    auto verification = read_verify(context.request, faults);
    if (!verification) return verification.error();
    wiped_at_end const key_text(verification->key);
    if (auto error = context.query.refuse_rest()) return error;
    if (!faults.empty())
        return api_error{.problem = problem::validation_failed, .faults = std::move(faults)};

    if (verification->key_id != 0 && !context.principal.may(model::scope::keys_read))
        return missing_scope(model::name_of(model::scope::keys_read));

    auto const verdict = authenticate(*verification, context, services);
    // An id is no proof of a key: with it the caller learns of keys that it could read anyhow.
    auto const sees = verification->key_id != 0 ? sees_project : verifies_project;
    bool const is_visible = verdict.caller && sees(context, verdict.caller->record().project);
    // Only a key that passed all checks before the limits is charged.
    bool const pays = verdict.problem == problem::none;
    cluster::quota_verdict charged;
    if (is_visible) charged = context.charge(*verdict.caller, pays ? verification->cost : 0);
    if (charged.state == cluster::quota_state::pending) {
        body.keep();
        return std::nullopt;
    }
    if (verdict.problem == problem::internal_error) return make_error(problem::internal_error);
    if (charged.state == cluster::quota_state::behind) return make_error(problem::behind);
    auto result = verdict.problem;
    std::string missing;
    if (is_visible) {
        auto const& key = verdict.caller->record();
        if (!charged.decision.admitted())
            result = problem::rate_limited;
        else if (pays)
            missing = verdict.caller->scopes().first_missing(verification->scopes).value_or("");
        if (!missing.empty()) result = problem::insufficient_scope;
        if (result == problem::none && verification->method) {
            auto const permission =
                permission_of(*verdict.caller, *verification->method, verification->path);
            result = permission.problem;
            missing = permission.missing_scope;
        }
        if (verification->cost != 0) count_use(services, key.id, context.now.wall, result, pays);
    } else if (verdict.caller || !is_about_time(result)) {
        result = problem::key_invalid;
    }
    api::verification answer{.result = result, .missing_scope = missing};
    if (is_visible) {
        live_limits const live{verdict.caller->limits(), charged.decision};
        answer.caller = &*verdict.caller;
        answer.live = &live;
        append_verification(response.body, answer);
    } else {
        append_verification(response.body, answer);
    }
    show_written(response);
    return std::nullopt;
}

}  // namespace latchkey::api
