// The fields and refusals that all responses share.
#include <array>

#include "api/exchange/exchange_state.hpp"
#include "api/frame/problem_document.hpp"
#include "api/frame/refusal_detail.hpp"

namespace latchkey::api {
namespace {

using base::problem;

constexpr std::uint32_t overload_retry_seconds = 1;
constexpr std::string_view transport_security = "max-age=31536000";

void announce(deprecation const& deprecation, http::response& response) {
    response.add("Deprecation", deprecation.date);
    if (!deprecation.sunset.empty()) response.add("Sunset", deprecation.sunset);
    if (!deprecation.link.empty())
        response.add("Link", "<", deprecation.link, ">; rel=\"deprecation\"; type=\"text/html\"");
}

void add_problem_headers(request_state const& state, api_error const& error,
                         http::response& response) {
    // RFC 9728 §5.1. A gateway asks for another resource, of which it says nothing.
    auto const metadata =
        state.matched.gateway ? std::string_view() : std::string_view(state.settings->challenge);
    switch (error.problem) {
        case problem::key_missing:
        case problem::session_invalid:
        case problem::signature_invalid:
            response.add("WWW-Authenticate", R"(Bearer realm="api")", metadata);
            break;
        case problem::key_invalid:
            response.add("WWW-Authenticate", R"(Bearer realm="api", error="invalid_token")",
                         metadata);
            break;
        case problem::token_expired:
        case problem::token_invalid:
        case problem::token_not_yet_valid:
            // A constant sentence, without quotes (RFC 6750 §3).
            response.add("WWW-Authenticate",
                         R"(Bearer realm="api", error="invalid_token", error_description=")",
                         error.detail, "\"", metadata);
            break;
        case problem::insufficient_scope:
            response.add("WWW-Authenticate",
                         R"(Bearer realm="api", error="insufficient_scope", scope=")", error.scope,
                         "\"");
            break;
        case problem::method_not_allowed:
            response.add("Allow", allowed_methods(state.matched.pattern));
            break;
        case problem::unsupported_media_type:
            if (state.is_coded) {
                response.add("Accept-Encoding", "identity");
                break;
            }
            response.add("Accept", state.takes_form()
                                       ? "application/x-www-form-urlencoded, application/json"
                                       : "application/json");
            if (state.method == http::method::patch)
                response.add("Accept-Patch", "application/merge-patch+json, application/json");
            break;
        case problem::rate_limited:
            response.add("Retry-After", state.quota.retry_after);
            break;
        case problem::too_many_auth_failures:
            response.add("Retry-After", state.retry_after);
            break;
        case problem::overloaded:
        case problem::draining:
        case problem::store_busy:
        case problem::behind:
            response.add("Retry-After", overload_retry_seconds);
            break;
        default:
            break;
    }
}

// Whoever looks at the service by a session, or begins one, is none of the applications whose usage
// is counted (api.md §4). One that was refused may be anybody.
bool is_of_browser(request_state const& state, http::response const& response) {
    return state.source == key_source::session ||
           (response.status < 400 && state.matched.route != nullptr &&
            state.matched.route->operation.sets_cookie);
}

}  // namespace

next_step refuse(request_state const& state, base::problem problem, http::response& response) {
    return refuse(state, make_error(problem), response);
}

next_step refuse(request_state const& state, api_error error, http::response& response) {
    std::array<std::string_view, model::rate_limits_max> violated;
    std::size_t count = 0;
    if (error.problem == problem::rate_limited) {
        auto const& rules = state.principal->limits().rules;
        for (std::size_t i = 0; i < rules.size(); ++i)
            if (state.quota.violated >> i & 1) violated[count++] = rules[i].name;
    }
    render_problem(error, *state.settings, state.request_id.text(), {violated.data(), count},
                   response);
    add_problem_headers(state, error, response);
    // nginx turns every response to auth_request but 2xx, 401 and 403 into a 500. No body: a
    // problem document would name another status.
    if (state.masks_limits && response.status == 429) {
        response.status = 403;
        response.body.clear();
        response.content_type = http::content::none;
        response.add("X-Auth-Status", "429");
    }
    return add_common_headers(state, response);
}

// Called once for each request, so the use of its key is counted here, whatever the response.
next_step add_common_headers(request_state const& state, http::response& response) {
    if (state.principal && state.uses != nullptr && !is_of_browser(state, response))
        state.uses->count(state.principal->record().id, state.authenticated_at, response.status,
                          state.was_charged && !state.quota.admitted());
    response.add_with("X-Request-Id", state.request_id.text().size(),
                      [&](base::text_writer& value) { value.put(state.request_id.text()); });
    if (state.needs_key)
        response.add_lines("X-Content-Type-Options: nosniff\r\nVary: Authorization, X-API-Key\r\n");
    else
        response.add_lines("X-Content-Type-Options: nosniff\r\n");
    if (state.source == key_source::session) response.add_lines("Vary: Cookie\r\n");
    if (state.tls && state.settings->strict_transport_security)
        response.add("Strict-Transport-Security", transport_security);
    if (!state.canonical_path.empty())
        response.add("Link", "<", state.settings->base_url, state.canonical_path,
                     ">; rel=\"canonical\"");
    // A client without a key must not learn which routes exist.
    if (state.was_charged || state.matched.is_public)
        for (auto const& each : state.settings->deprecations)
            if (each.target == state.matched.route) announce(each, response);
    if (!state.was_charged || state.quota.count == 0) return next_step::respond;
    auto const& limits = state.principal->limits();
    response.add_with("RateLimit-Policy", limits.header.size(),
                      [&](base::text_writer& value) { value.put(limits.header); });
    response.add_with("RateLimit", limits.levels_bytes_max, [&](base::text_writer& value) {
        limit::put_levels(limits, state.quota, value);
    });
    return next_step::respond;
}

// A refusal that names the limit of this request. Its head was accepted, so a header section that
// is too large is that of the trailers.
api_error excess_error(request_state const& state, base::problem problem) {
    if (problem != problem::headers_too_large)
        return make_error(problem, limit_detail(problem, *state.settings, state.body_bytes_max()));
    return make_error(
        problem, "The trailers have more than " + std::to_string(base::limits::trailer_bytes_max) +
                     " bytes or more than " + std::to_string(base::limits::trailer_fields_max) +
                     " fields, the limits of all requests. Leave them out.");
}

void refuse_unparsed(request_services& services, peer const& peer, base::problem problem,
                     std::string_view detail, http::response& response, std::string& id) {
    request_id fresh;
    fresh.take(std::nullopt, services.random);
    id.assign(fresh.text());
    auto const& settings = services.settings;
    auto const limit = limit_detail(problem, settings, settings.body_bytes_max);
    render_problem(make_error(problem, limit.empty() ? detail : limit), settings, id, {}, response);
    response.add("X-Request-Id", id);
    response.add("X-Content-Type-Options", "nosniff");
    if (peer.tls && settings.strict_transport_security)
        response.add("Strict-Transport-Security", transport_security);
    if (problem == problem::overloaded) response.add("Retry-After", overload_retry_seconds);
    // RFC 9110 §10.2.1: of CONNECT to another server, for which no method is allowed.
    if (problem == problem::method_not_allowed) response.add("Allow", "");
    response.close = true;
}

}  // namespace latchkey::api
