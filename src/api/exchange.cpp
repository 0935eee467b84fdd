// The life of a request and its checks, in the order of api.md §3.
#include "api/exchange.hpp"

#include "api/checks/credential_form.hpp"
#include "api/checks/forwarded.hpp"
#include "api/checks/negotiate.hpp"
#include "api/exchange_size.hpp"
#include "api/exchange_state.hpp"
#include "api/handlers.hpp"
#include "api/refusal_detail.hpp"
#include "auth/key_form.hpp"
#include "auth/token_cache.hpp"

namespace latchkey::api {
namespace {

using base::problem;
using http::field_name;
using body_kind = http::framing::body_kind;

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

constexpr std::string_view unsaid_scheme =
    "The proxy in front did not say how this request reached it. It must send X-Forwarded-Proto: "
    "https, once, where its client used HTTPS. Whoever runs the proxy mends that; a key that was "
    "sent to an https:// address need not be rotated.";
constexpr std::string_view health_pattern = "/healthz";

// With keys by query switched off, a key whose only scopes are those of event sources may still
// come that way. An unknown key passes here and is refused as unknown.
bool may_come_by_query(settings const& settings, auth::verdict const& verdict) {
    if (settings.allow_query || !verdict.caller) return true;
    auto const& scopes = verdict.caller->record().scopes;
    return scopes.bits() == 0 && !scopes.sources().empty();
}

}  // namespace

exchange::exchange() : state_(std::make_unique<exchange_state>()) {}
exchange::~exchange() = default;

std::size_t exchange_state_bytes() {
    return sizeof(exchange_state);
}

void exchange_state::start(request_services& services, http::request const& request,
                           peer const& peer) {
    settings = &services.settings;
    uses = services.uses;
    request_id.take(request.find_only(field_name::request_id), services.random);
    trace_id.take(request.find_only(field_name::traceparent));
    client = peer.client;
    failure_address = peer.client.value_or(limit::unknown_client);
    method = request.method;
    tls = peer.tls;
    events.reset();
    reading.reset();
    wants_events = false;
    credential_in_body = needs_key = was_charged = body_complete = false;
    is_coded = is_unreadable = false;
    tokens = {};
    wait = wait_kind::none;
    source = key_source::none;
    session.reset();
    retry_after = 0;
    resume_reading_at = 0;
    principal.reset();
    writing = nullptr;
    idempotency.reset();
    claim.release();
    canonical_path.clear();
    matched = find_route(request.method, request.path);
    is_shared = matched.gateway;
    path_id = parse_id(matched.variable);
    event_source.clear();
    if (model::is_event_source(matched.variable)) event_source = matched.variable;
    fresh_key.reset();
    masks_limits = matched.gateway && !request.path.starts_with(gateway_folder) &&
                   api::masks_limits(request.query);
}

bool exchange_state::is_external() const {
    auto const* const write_route =
        matched.route == nullptr ? nullptr : std::get_if<write>(&matched.route->run);
    return write_route != nullptr && write_route->external;
}

void exchange_state::note_exposed(auth::verdict const& verdict) {
    if (uses != nullptr && verdict.caller) uses->expose(verdict.caller->record().digest);
}

// A trusted proxy said nothing that can be read: only its client's "http" is clear text for sure.
bool exchange_state::may_be_https(http::request const& request, peer const& peer) const {
    bool const is_behind_proxy = peer.relayed || (peer.client && settings->trusts(*peer.client));
    return is_behind_proxy && request.find_only(field_name::forwarded_proto) != "http";
}

// The writer looks the key up later: here the time that it takes would tell whether there is such a
// key, to whom no failed authentication counts.
void exchange_state::note_exposed(http::request const& request) {
    if (uses == nullptr) return;
    auto const credential = find_credential(request, true, decoded_credential);
    if (auth::has_imported_form(credential.key))  // as generated ones have too
        uses->expose_unknown(auth::digest_of(credential.key));
    wipe(decoded_credential);
}

next_step exchange::begin(request_services& services, http::request const& request,
                          http::framing const& framing, peer const& peer, base::instant now,
                          http::response& response) {
    auto& state = *state_;
    state.start(services, request, peer);
    state.has_body = framing.body == body_kind::chunked || framing.content_length > 0;
    // Who waits for 100 has content to send (RFC 9110 §10.1.1).
    state.may_be_empty = framing.body == body_kind::chunked && !framing.expect_continue;
    state.unknown_expectation = framing.expect_unknown;
    bool const secure = is_secure(request, peer);
    bool const is_unknown = !secure && state.may_be_https(request, peer);
    if (!secure && !is_unknown) state.note_exposed(request);
    if (!secure || state.matched.is_public) wipe_credentials(request);  // not used
    auto const detail = is_unknown ? unsaid_scheme : std::string_view();
    if (!secure) return refuse(make_error(problem::https_required, detail), response);
    if (state.matched.is_public) return serve_public(request, response);

    state.needs_key = true;
    bool const allow_query = services.settings.allow_query || state.is_external();
    auto const credential = find_credential(request, allow_query, state.decoded_credential);
    if (credential.source == key_source::none) {
        if (!allow_query) state.note_exposed(request);
        if (auto const cookie = find_session(request);
            cookie && credential.problem == problem::none && services.sessions != nullptr &&
            !state.matched.gateway)
            return enter_session(services, request, *cookie, now, response);
        auto const form = unread_credential(request, allow_query);
        wipe_credentials(request);  // two of one way, or a way that is switched off
        if (credential.problem != problem::none) return refuse(credential.problem, response);
        if (state.matched.gateway) return refuse(make_error(problem::key_missing, form), response);
        return find_key_in_body(framing, form, response);
    }
    state.source = credential.source;
    auto const verdict = authenticate(services, credential, now);
    wipe_credentials(request);
    wipe(state.decoded_credential);
    if (credential.source == key_source::query) state.note_exposed(verdict);
    if (credential.source == key_source::query && !may_come_by_query(services.settings, verdict))
        return refuse(make_error(problem::key_missing, unread_credential(request, false)),
                      response);
    return enter(services, request, verdict, now, response);
}

// A JWT counts where it is the bearer's alone (api.md §19). While its address is refused for failed
// authentications, no signature is verified.
auth::verdict exchange::authenticate(request_services& services, credential const& credential,
                                     base::instant now) {
    auto& state = *state_;
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

bool exchange::turn_away(request_services& services, http::request const& request, peer const& peer,
                         http::response& response) {
    state_->start(services, request, peer);
    if (state_->matched.is_public) return false;
    wipe_credentials(request);
    refuse(problem::overloaded, response);
    return true;
}

next_step exchange::finish(request_services& services, http::request const& request,
                           base::instant now, http::response& response) {
    auto& state = *state_;
    state.has_body = !request.body.empty();
    state.may_be_empty = false;
    if (std::exchange(state.credential_in_body, false)) {
        base::secret text;
        auto const credential = find_credential(request.body, text);
        if (credential.problem != problem::none) {
            wipe(request.body);
            auto const form = credential.problem == problem::key_missing
                                  ? unread_credential(request, services.settings.allow_query)
                                  : std::string_view();
            return refuse(make_error(credential.problem, form), response);
        }
        state.source = key_source::body;
        auto const verdict = services.keys.authenticate(
            credential.key, state.client ? &*state.client : nullptr, services.snapshot, now);
        wipe_credential(request.body);
        state.note_exposed(verdict);
        state.body_complete = true;
        return enter(services, request, verdict, now, response);
    }
    if (state.is_unreadable && state.has_body) {
        refuse_body_form(response);
        return next_step::respond;
    }
    return run(services, request, now, response);
}

// ---- the checks, in order

bool exchange::is_secure(http::request const& request, peer const& peer) {
    auto& state = *state_;
    bool const forwarded_https = request.find_only(field_name::forwarded_proto) == "https";
    if (peer.client && state.settings->trusts(*peer.client)) {
        state.client = forwarded_client(*state.settings, request);
        // Without a forwarded address failures count against the proxy.
        if (state.client) state.failure_address = *state.client;
        state.is_shared = true;
        // A health check of the proxy's own comes from no client.
        return forwarded_https || (peer.is_proxy && state.matched.pattern == health_pattern);
    }
    // Where a proxy relays decrypted bytes, only its header says whether its client used TLS.
    return peer.tls || (peer.relayed ? forwarded_https : peer.local);
}

// No credential by the ways that need no body: a POST may carry it in its body (api.md §2, way 4).
next_step exchange::find_key_in_body(http::framing const& framing, std::string_view form,
                                     http::response& response) {
    auto& state = *state_;
    if (!state.settings->allow_body || state.is_external() || state.method != http::method::post ||
        !state.has_body)
        return refuse(make_error(problem::key_missing, form), response);
    state.credential_in_body = true;
    if (framing.body == body_kind::sized && framing.content_length > body_bytes_max())
        return refuse(excess(problem::body_too_large), response);
    return next_step::read_body;
}

// A browser's session in the place of a key (api.md §18). The key's own state is checked as ever.
next_step exchange::enter_session(request_services& services, http::request const& request,
                                  std::string_view cookie, base::instant now,
                                  http::response& response) {
    auto& state = *state_;
    state.session = services.sessions->open(cookie);
    wipe_credentials(request);
    // Of two lines one may say https, with which a page of http is of another site.
    bool const is_https = state.tls || request.find(field_name::forwarded_proto) == "https" ||
                          request.count(field_name::forwarded_proto) > 1;
    if (!is_from_own_page(request, is_https)) return refuse(problem::cross_site_request, response);
    if (!state.session || now.wall >= state.session->expires_at)
        return refuse(problem::session_invalid, response);
    auto const verdict =
        services.keys.authenticate(services.keys.present(state.session->key_digest),
                                   state.client ? &*state.client : nullptr, services.snapshot, now);
    if (!verdict.caller) return refuse(problem::session_invalid, response);
    if (state.session->generation !=
        services.snapshot.sessions_generation(verdict.caller->record().id))
        return refuse(problem::session_invalid, response);
    state.source = key_source::session;
    return enter(services, request, verdict, now, response);
}

// What follows the look-up of the key, wherever it came from.
next_step exchange::enter(request_services& services, http::request const& request,
                          auth::verdict const& verdict, base::instant now,
                          http::response& response) {
    if (services.lease_over) return refuse(problem::behind, response);
    if (!accept_key(services, verdict, now, response)) return next_step::respond;
    return admit(services, request, now, response);
}

// An unknown key or a wrong token counts against the address it came from, or against a proxy that
// does not name its client; a known key never does.
bool exchange::accept_key(request_services& services, auth::verdict const& verdict,
                          base::instant now, http::response& response) {
    auto& state = *state_;
    state.principal = verdict.caller;
    state.authenticated_at = now.wall;
    if (verdict.problem == problem::none) {
        prefetch_limits(services, state.principal->record().id);
        if (services.uses != nullptr) services.uses->note(state.principal->record().id, now.wall);
        return true;
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
    if (state.retry_after != 0)
        return reject(make_error(problem::too_many_auth_failures), response);
    return reject(make_error(verdict.problem, verdict.detail), response);
}

next_step exchange::admit(request_services& services, http::request const& request,
                          base::instant now, http::response& response) {
    auto& state = *state_;
    auto const verdict = charge(services, *state.principal, 1, now, state.tokens);
    if (verdict.state == cluster::quota_state::pending) [[unlikely]]
        return await_tokens(wait_kind::admission);
    if (verdict.state == cluster::quota_state::behind) [[unlikely]]
        return refuse(problem::behind, response);
    state.quota = verdict.decision;
    state.was_charged = true;
    if (!state.quota.admitted()) return refuse(problem::rate_limited, response);
    return pass_checks(services, request, now, response);
}

// Nothing of the head is checked for a gateway, which passes on its client's.
next_step exchange::pass_checks(request_services& services, http::request const& request,
                                base::instant now, http::response& response) {
    auto const& state = *state_;
    if (auto const record = state.path_id ? state.matched.record() : std::nullopt)
        services.snapshot.prefetch_record(*record, *state.path_id);
    if (state.matched.gateway) return serve_gateway(services, request, now, response);
    if (!find_handler(request, response) || !check_head(request, response))
        return next_step::respond;
    if (takes_body() && state.has_body && !state.body_complete) return next_step::read_body;
    return run(services, request, now, response);
}

// The route (404, 405, and OPTIONS, which every path answers), then its scopes. Not earlier: a
// client without a key must not learn which paths exist.
bool exchange::find_handler(http::request const& request, http::response& response) {
    auto& state = *state_;
    bool const is_asterisk = request.path == http::asterisk_path;
    if (state.matched.pattern.empty() && !is_asterisk)
        return reject(make_error(problem::route_not_found), response);
    if (state.matched.unprefixed) state.canonical_path.append(prefix).append(request.path);
    if (request.method == http::method::options) {
        serve_options(response);
        return false;
    }
    if (state.matched.route == nullptr)
        return reject(make_error(problem::method_not_allowed), response);
    return has_scopes(request, response);
}

bool exchange::has_scopes(http::request const& request, http::response& response) {
    auto const& state = *state_;
    auto const& route = *state.matched.route;
    auto const holds = [&](model::scope scope) {
        return scope == model::scope::events_write
                   ? state.principal->may_send_events_of(state.event_source)
                   : state.principal->may(scope);
    };
    if (route.scope && !holds(*route.scope))
        return reject(missing_scope(model::name_of(*route.scope)), response);
    auto const* const reading = std::get_if<read>(&route.run);
    auto const query_scope = reading != nullptr && reading->query_scope != nullptr
                                 ? reading->query_scope(request.query)
                                 : std::nullopt;
    auto const* const writing = std::get_if<write>(&route.run);
    auto const further = writing != nullptr ? writing->further_scope : query_scope;
    if (further && !holds(*further))
        return reject(missing_scope(model::name_of(*further)), response);
    return true;
}

bool exchange::check_head(http::request const& request, http::response& response) {
    auto& state = *state_;
    auto const* const reading = std::get_if<read>(&state.matched.route->run);
    state.wants_events =
        reading != nullptr && reading->stream != nullptr && asks_for_events(request);
    if (!state.wants_events && !accepts_json(request))
        return reject(make_error(problem::not_acceptable), response);
    if (takes_body() && state.has_body) {
        state.is_coded = has_coded_body(request);
        state.is_unreadable = state.is_coded || (!has_json_body(request) &&
                                                 !(takes_form() && has_form_body(request)));
        // Who expects something of a body sends one.
        if (state.is_unreadable && (!state.may_be_empty || state.unknown_expectation))
            return refuse_body_form(response);
    }
    if (state.unknown_expectation) return reject(make_error(problem::expectation_failed), response);
    return true;
}

bool exchange::refuse_body_form(http::response& response) {
    auto const* const detail =
        state_->is_coded ? "The body has a Content-Encoding. Send it as it is, without one." : "";
    return reject(make_error(problem::unsupported_media_type, detail), response);
}

bool exchange::takes_body() const {
    auto const& route = *state_->matched.route;
    if (std::holds_alternative<action>(route.run)) return true;
    auto const* const writing = std::get_if<write>(&route.run);
    return writing != nullptr && writing->body;
}

bool exchange::takes_form() const {
    auto const* const route = state_->matched.route;
    auto const* const acting = route == nullptr ? nullptr : std::get_if<action>(&route->run);
    return acting != nullptr && acting->form;
}

}  // namespace latchkey::api
