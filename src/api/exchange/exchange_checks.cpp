// The checks of a request up to its handler, in the order of api.md §3.
#include "api/exchange/exchange_checks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "api/frame/checks/credential_form.hpp"
#include "api/frame/checks/forwarded.hpp"
#include "api/frame/checks/negotiate.hpp"
#include "api/frame/refusal_detail.hpp"
#include "auth/bearer_cache.hpp"
#include "auth/key_form.hpp"

namespace latchkey::api {
namespace {

using base::problem;
using http::field_name;

constexpr std::string_view unsaid_scheme =
    "The proxy in front did not say how this request reached it. It must send X-Forwarded-Proto: "
    "https, once, where its client used HTTPS. Whoever runs the proxy mends that; a key that was "
    "sent to an https:// address need not be rotated.";
constexpr std::string_view health_pattern = "/healthz";

// Overwrites the credentials of a head, and the one that was decoded from it, at the end of its
// scope, whichever return ends that.
class credential_guard {
  public:
    explicit credential_guard(http::request const& request) : request_(request) {}
    ~credential_guard() {
        wipe_credentials(request_);
        wipe(decoded);
    }
    credential_guard(credential_guard const&) = delete;
    credential_guard& operator=(credential_guard const&) = delete;

    std::string decoded;

  private:
    http::request const& request_;
};

// The right-most entry of X-Forwarded-For that is not a trusted proxy; nullopt when there is none
// or it is not an address: the client's address is unknown.
std::optional<model::address> forwarded_client(settings const& settings,
                                               http::request const& request) {
    auto const fields = request.fields();
    for (auto field = fields.rbegin(); field != fields.rend(); ++field) {
        if (field->id != field_name::forwarded_for) continue;
        auto rest = field->value;
        while (!rest.empty()) {
            auto const comma = rest.rfind(',');
            auto entry = comma == rest.npos ? rest : rest.substr(comma + 1);
            rest = comma == rest.npos ? std::string_view() : rest.substr(0, comma);
            auto const begin = entry.find_first_not_of(" \t");
            entry = begin == entry.npos
                        ? std::string_view()
                        : entry.substr(begin, entry.find_last_not_of(" \t") - begin + 1);
            auto const client = parse_node(entry);
            if (!client || !settings.trusts(*client)) return client;
        }
    }
    return std::nullopt;
}

// A JWT counts where it is the bearer's alone (api.md §19). While its address is refused for failed
// authentications, no signature is verified.
auth::verdict look_up(request_state& state, request_services& services,
                      credential const& credential, base::instant now) {
    bool const is_token = credential.source == key_source::bearer && services.tokens != nullptr &&
                          services.tokens->may_be_token(credential.key);
    auth::cache::presented_key key;
    if (!is_token) key = services.keys.present(credential.key);
    // Prefetch: the branch pages on the way to the record come from memory while the key is looked
    // up; waiting for them is most of what a random record costs more than a hot one. The record's
    // own page is read only once the request is admitted.
    auto const record = state.path_id ? state.matched.record() : std::nullopt;
    if (record) services.snapshot.prefetch_page(*record, *state.path_id);
    auto const* const client = state.client ? &*state.client : nullptr;
    if (!is_token) return services.keys.authenticate(key, client, services.snapshot, now);
    bool const may_verify = services.failures.refused_for(state.failure_address, now.mono) == 0;
    auto verdict =
        services.tokens->authenticate(credential.key, client, services.snapshot, now, may_verify);
    if (verdict.is_token) state.source = key_source::token;
    return verdict;
}

// With keys by query switched off, a key whose only scopes are those of event sources may still
// come that way. An unknown key passes here and is refused as unknown.
bool may_come_by_query(settings const& settings, auth::verdict const& verdict) {
    if (settings.allow_query || !verdict.caller) return true;
    auto const& scopes = verdict.caller->record().scopes;
    return scopes.bits() == 0 && !scopes.sources().empty();
}

// A browser's session in the place of a key (api.md §18). The key's own state is checked as ever.
check_result open_session(request_state& state, exchange_input const& input,
                          std::string_view cookie) {
    auto& [services, request, now, response, query] = input;
    state.session = services.sessions->open(cookie);
    // One of several field lines may say https, with which a page of http is of another site.
    bool const is_https = state.tls || request.find(field_name::forwarded_proto) == "https" ||
                          request.count(field_name::forwarded_proto) > 1;
    if (!is_from_own_page(request, is_https))
        return refuse(state, problem::cross_site_request, response);
    if (!state.session || now.wall >= state.session->expires_at)
        return refuse(state, problem::session_invalid, response);
    auto verdict =
        services.keys.authenticate(services.keys.present(state.session->key_digest),
                                   state.client ? &*state.client : nullptr, services.snapshot, now);
    if (!verdict.caller || state.session->generation !=
                               services.snapshot.sessions_generation(verdict.caller->record().id))
        return refuse(state, problem::session_invalid, response);
    state.source = key_source::session;
    state.verdict = std::move(verdict);
    return passes;
}

// No credential by the ways that need no body: a POST may carry it in its body (api.md §2, way 4).
check_result await_credential(request_state& state, exchange_input const& input,
                              std::string_view form) {
    if (state.matched.gateway || !state.settings->allow_body || state.is_external() ||
        state.method != http::method::post || !state.has_body)
        return refuse(state, make_error(problem::key_missing, form), input.response);
    state.credential_in_body = true;
    if (state.announced_bytes > state.body_bytes_max())
        return refuse(state, excess_error(state, problem::body_too_large), input.response);
    return next_step::read_body;
}

check_result identify_by_body(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    state.credential_in_body = false;
    base::secret text;
    auto const credential = find_credential(request.body, text);
    if (credential.problem != problem::none) {
        wipe(request.body);
        auto const form = credential.problem == problem::key_missing
                              ? unread_credential(request, services.settings.allow_query)
                              : std::string_view();
        return refuse(state, make_error(credential.problem, form), response);
    }
    state.source = key_source::body;
    state.verdict = services.keys.authenticate(
        credential.key, state.client ? &*state.client : nullptr, services.snapshot, now);
    wipe_credential(request.body);
    state.note_exposed();
    return passes;
}

}  // namespace

// ---- the checks, in order

check_result require_https(request_state& state, exchange_input const& input) {
    auto const& request = input.request;
    bool const is_forwarded_https = request.find_only(field_name::forwarded_proto) == "https";
    bool const is_from_proxy = state.client && state.settings->trusts(*state.client);
    // Where a proxy relays decrypted bytes, only its header says whether its client used TLS.
    bool is_secure = state.tls || (state.is_relayed ? is_forwarded_https : state.is_local);
    if (is_from_proxy) {
        state.client = forwarded_client(*state.settings, request);
        // Without a forwarded address failures count against the proxy.
        if (state.client) state.failure_address = *state.client;
        state.is_shared = true;
        // A health check of the proxy's own comes from no client.
        is_secure =
            is_forwarded_https || (state.is_proxy && state.matched.pattern == health_pattern);
    }
    if (is_secure) return passes;
    // A trusted proxy said nothing that can be read: only its client's "http" is clear text for
    // sure.
    bool const is_unknown = (state.is_relayed || is_from_proxy) &&
                            request.find_only(field_name::forwarded_proto) != "http";
    if (!is_unknown) state.note_exposed(request);
    wipe_credentials(request);
    auto const detail = is_unknown ? unsaid_scheme : std::string_view();
    return refuse(state, make_error(problem::https_required, detail), input.response);
}

// Credentials may come in several ways, of which the first that is there counts. Handlers find none
// of them.
check_result identify(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    if (state.credential_in_body) return identify_by_body(state, input);
    state.needs_key = true;
    credential_guard guard(request);
    bool const allow_query = services.settings.allow_query || state.is_external();
    auto const credential = find_credential(request, allow_query, guard.decoded);
    if (credential.source == key_source::none) {
        if (!allow_query) state.note_exposed(request);
        if (credential.problem != problem::none) return refuse(state, credential.problem, response);
        auto const cookie = find_session(request);
        if (cookie && services.sessions != nullptr && !state.matched.gateway)
            return open_session(state, input, *cookie);
        return await_credential(state, input, unread_credential(request, allow_query));
    }
    state.source = credential.source;
    state.verdict = look_up(state, services, credential, now);
    if (credential.source != key_source::query) return passes;
    state.note_exposed();
    if (may_come_by_query(services.settings, state.verdict)) return passes;
    return refuse(state, make_error(problem::key_missing, unread_credential(request, false)),
                  response);
}

check_result require_lease(request_state& state, exchange_input const& input) {
    if (input.services.lease_over) return refuse(state, problem::behind, input.response);
    return passes;
}

// An unknown key or a wrong token counts against the address it came from, or against a proxy that
// does not name its client; a known key never does.
check_result accept_key(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    auto const& verdict = state.verdict;
    state.principal = std::move(state.verdict.caller);
    state.authenticated_at = now.wall;
    if (verdict.problem == problem::none) {
        auto const key = state.principal->record().id;
        prefetch_limits(services, key);
        if (services.uses != nullptr) services.uses->note(key, now.wall);
        return passes;
    }
    bool const is_unverified = verdict.problem == problem::too_many_auth_failures;
    if (verdict.problem == problem::key_invalid || verdict.problem == problem::token_invalid ||
        is_unverified)
        state.retry_after = services.failures.count(state.failure_address, now.mono);
    if (is_unverified) state.retry_after = std::max(state.retry_after, 1u);
    // A refusal costs as much as an answer: past a rate of refusals the connection is read later.
    // Not one that may carry other clients, nor one whose client is unknown.
    if (state.retry_after != 0 && !state.is_shared && state.client)
        state.resume_reading_at = services.failures.resume_at(*state.client, now.mono);
    if (state.retry_after != 0) return refuse(state, problem::too_many_auth_failures, response);
    api_error error = make_error(verdict.problem, verdict.detail);
    if (state.principal)
        error.detail.append(state_detail(verdict.problem, state.principal->record()));
    return refuse(state, std::move(error), response);
}

// In a cluster it may have to wait for tokens, and the lease may end meanwhile.
check_result charge_key(request_state& state, exchange_input const& input) {
    auto& services = input.services;
    if (std::exchange(state.wait, wait_kind::none) == wait_kind::tokens && services.lease_over)
        return refuse(state, problem::behind, input.response);
    auto const verdict = charge(services, *state.principal, 1, input.now, state.tokens);
    if (verdict.state == cluster::quota_state::pending) [[unlikely]] {
        state.wait = wait_kind::tokens;
        return next_step::await_tokens;
    }
    if (verdict.state == cluster::quota_state::behind) [[unlikely]]
        return refuse(state, problem::behind, input.response);
    state.quota = verdict.decision;
    state.was_charged = true;
    if (!state.quota.admitted()) return refuse(state, problem::rate_limited, input.response);
    if (auto const record = state.path_id ? state.matched.record() : std::nullopt)
        services.snapshot.prefetch_record(*record, *state.path_id);
    return passes;
}

// Nothing of the path is repeated.
api_error unknown_path(std::string_view path) {
    auto error = make_error(problem::route_not_found);
    if (auto const pattern = nearest_pattern(path))
        error.detail.append("There is no such path. Did you mean `").append(*pattern).append("`?");
    else if (path.starts_with("/api/") && !path.starts_with(prefix))
        error.detail.append("There is no such path. Those of this version begin with `")
            .append(prefix)
            .append("`.");
    return error;
}

// The route (404, 405, and OPTIONS, which every path answers). Not earlier: a client without a key
// must not learn which paths exist.
check_result find_handler(request_state& state, exchange_input const& input) {
    auto const& request = input.request;
    bool const is_asterisk = request.path == http::asterisk_path;
    if (state.matched.pattern.empty() && !is_asterisk)
        return refuse(state, unknown_path(request.path), input.response);
    if (state.matched.unprefixed) state.canonical_path.append(prefix).append(request.path);
    if (request.method == http::method::options) return serve_options(state, input.response);
    if (state.matched.route == nullptr)
        return refuse(state, problem::method_not_allowed, input.response);
    return passes;
}

check_result require_scopes(request_state& state, exchange_input const& input) {
    auto const& route = *state.matched.route;
    auto const holds = [&](model::scope scope) {
        return scope == model::scope::events_write
                   ? state.principal->may_send_events_of(state.event_source)
                   : state.principal->may(scope);
    };
    if (route.scope && !holds(*route.scope))
        return refuse(state, missing_scope(model::name_of(*route.scope)), input.response);
    auto const* const reading = std::get_if<read>(&route.run);
    auto const query_scope = reading != nullptr && reading->query_scope != nullptr
                                 ? reading->query_scope(input.request.query)
                                 : std::nullopt;
    auto const* const writing = std::get_if<write>(&route.run);
    auto const further = writing != nullptr ? writing->further_scope : query_scope;
    if (further && !holds(*further))
        return refuse(state, missing_scope(model::name_of(*further)), input.response);
    return passes;
}

next_step refuse_body_form(request_state const& state, http::response& response) {
    auto const* const detail =
        state.is_coded ? "The body has a Content-Encoding. Send it as it is, without one."
        : state.takes_form()
            ? "Send the body as application/x-www-form-urlencoded or application/json, in UTF-8."
            : "";
    return refuse(state, make_error(problem::unsupported_media_type, detail), response);
}

check_result negotiate(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    auto const* const reading = std::get_if<read>(&state.matched.route->run);
    state.wants_events =
        reading != nullptr && reading->stream != nullptr && asks_for_events(request);
    if (!state.wants_events && !accepts_json(request))
        return refuse(state, problem::not_acceptable, response);
    if (state.takes_body() && state.has_body) {
        state.is_coded = has_coded_body(request);
        state.is_unreadable = state.is_coded || (!has_json_body(request) &&
                                                 !(state.takes_form() && has_form_body(request)));
        // Who expects something of a body sends one.
        if (state.is_unreadable && (!state.may_be_empty || state.unknown_expectation))
            return refuse_body_form(state, response);
    }
    if (state.unknown_expectation) return refuse(state, problem::expectation_failed, response);
    return passes;
}

// An empty body is none, whatever its framing, which is known once it was read.
check_result read_body(request_state& state, exchange_input const& input) {
    if (!state.takes_body() || !state.has_body) return passes;
    if (!state.body_complete) return next_step::read_body;
    if (state.is_unreadable) return refuse_body_form(state, input.response);
    return passes;
}

}  // namespace latchkey::api
