// API §3's order of checks: the only way from a request to a handler.
#include "api/credential.hpp"
#include "api/exchange_state.hpp"
#include "api/handlers.hpp"
#include "api/negotiate.hpp"

namespace latchkey::api {
namespace {

using base::problem;
using http::field_name;
using body_kind = http::framing::body_kind;

bool is_trusted(settings const& rules, model::address const& who) {
    for (auto const& network : rules.trusted_proxies)
        if (network.contains(who)) return true;
    return false;
}

// The right-most entry that is not a trusted proxy itself; nullopt when there is none, or it is no
// address: then nobody knows where the client is.
std::optional<model::address> forwarded_client(settings const& rules,
                                               http::request const& request) {
    auto const fields = request.fields();
    for (auto field = fields.rbegin(); field != fields.rend(); ++field) {
        if (field->known != field_name::forwarded_for) continue;
        auto rest = field->value;
        while (!rest.empty()) {
            auto const comma = rest.rfind(',');
            auto entry = comma == rest.npos ? rest : rest.substr(comma + 1);
            rest = comma == rest.npos ? std::string_view() : rest.substr(0, comma);
            auto const begin = entry.find_first_not_of(" \t");
            entry = begin == entry.npos
                        ? std::string_view()
                        : entry.substr(begin, entry.find_last_not_of(" \t") - begin + 1);
            auto const who = model::address::parse(entry);
            if (!who || !is_trusted(rules, *who)) return who;
        }
    }
    return std::nullopt;
}

// Where keys by query are switched off, those that can do nothing but send the events of certain
// sources may still come so. One that nobody knows is refused for that.
bool may_come_by_query(settings const& rules, auth::verdict const& verdict) {
    if (rules.allow_query || !verdict.who) return true;
    auto const& scopes = verdict.who->record().scopes;
    return scopes.bits() == 0 && !scopes.sources().empty();
}

}  // namespace

exchange::exchange() : state_(std::make_unique<state>()) {}
exchange::~exchange() = default;

void exchange::state::start(desk& at, http::request const& request, peer const& from) {
    rules = &at.rules;
    uses = at.uses;
    id.take(request.find(field_name::request_id), at.random);
    trace.take(request.find(field_name::traceparent));
    client = from.client;
    method = request.method;
    tls = from.tls;
    credential_in_body = by_key = admitted = false;
    source = key_source::none;
    failures_wait = 0;
    heard_again = 0;
    who.reset();
    writing = nullptr;
    once.reset();
    claim = {};
    canonical.clear();
    where = find_route(request.method, request.path);
    for_others = where.gateway;
    path_id = parse_id(where.last);
    event_source.assign(model::is_event_source(where.last) ? where.last : std::string_view());
    made.reset();
    masks_limits = where.gateway && api::masks_limits(request.query);
}

bool exchange::state::foreign() const {
    auto const* const takes =
        where.chosen == nullptr ? nullptr : std::get_if<write>(&where.chosen->run);
    return takes != nullptr && takes->foreign;
}

need exchange::begin(desk& at, http::request const& request, http::framing const& framing,
                     peer const& from, base::instant now, http::response& answer) {
    auto& s = *state_;
    s.start(at, request, from);
    bool const secure = is_secure(request, from);
    if (!secure || s.where.open) wipe_credentials(request);  // nobody will look at them
    if (!secure) return refused(problem::https_required, answer);
    if (s.where.open) return serve_open(request, answer);

    s.by_key = true;
    bool const by_query = at.rules.allow_query || s.foreign();
    auto const found = find_credential(request, by_query, s.decoded);
    if (found.source == key_source::none) {
        wipe_credentials(request);  // two of one way, or a way that is switched off
        if (found.problem != problem::none) return refused(found.problem, answer);
        if (s.where.gateway) return refused(problem::key_missing, answer);
        return seek_in_body(framing, answer);
    }
    s.source = found.source;
    auto const key = at.keys.present(found.key);
    // The record that the path names comes from memory while the key is looked at. A key that is
    // not known costs a walk over a few branch pages for that, beside the look-up of its digest;
    // the record's page itself is not read before the request is admitted.
    auto const reads = s.path_id ? s.where.shows() : std::nullopt;
    if (reads) at.snapshot.prefetch_page(*reads, *s.path_id);
    auto const verdict =
        at.keys.authenticate(key, s.client ? &*s.client : nullptr, at.snapshot, now);
    wipe_credentials(request);
    wipe(s.decoded);
    if (found.source == key_source::query && !may_come_by_query(at.rules, verdict))
        return refused({problem::key_missing, "keys are not taken from the query", {}, {}}, answer);
    if (!accept_key(at, verdict, now, answer)) return need::nothing;
    if (!admit(at, now, answer)) return need::nothing;
    if (reads) at.snapshot.prefetch_record(*reads, *s.path_id);
    if (s.where.gateway) return serve_gateway(at, request, now, answer);
    if (!find_handler(request, answer)) return need::nothing;
    if (!check_head(request, framing.body != body_kind::none, framing.expect_unknown, answer))
        return need::nothing;
    if (takes_body() && framing.body != body_kind::none) return need::body;
    return run(at, request, now, answer);
}

bool exchange::turn_away(desk& at, http::request const& request, peer const& from,
                         http::response& answer) {
    state_->start(at, request, from);
    if (state_->where.open) return false;
    wipe_credentials(request);
    refused(problem::overloaded, answer);
    return true;
}

need exchange::finish(desk& at, http::request const& request, base::instant now,
                      http::response& answer) {
    auto& s = *state_;
    if (std::exchange(s.credential_in_body, false)) {
        auto const body = read_json(request.body);
        auto const found = find_credential(body);
        if (found.problem != problem::none) {
            wipe(request.body);
            return refused(found.problem, answer);
        }
        s.source = key_source::body;
        auto const verdict =
            at.keys.authenticate(found.key, s.client ? &*s.client : nullptr, at.snapshot, now);
        wipe(found.key);
        wipe_credential(request.body);
        if (!accept_key(at, verdict, now, answer)) return need::nothing;
        if (!admit(at, now, answer)) return need::nothing;
        if (!find_handler(request, answer)) return need::nothing;
        if (!check_head(request, true, s.odd_expectation, answer)) return need::nothing;
    }
    return run(at, request, now, answer);
}

// ---- the checks, in order

bool exchange::is_secure(http::request const& request, peer const& from) {
    auto& s = *state_;
    bool const said = request.find(field_name::forwarded_proto) == "https" &&
                      request.count(field_name::forwarded_proto) == 1;
    if (from.client && is_trusted(*s.rules, *from.client)) {
        s.client = forwarded_client(*s.rules, request);
        s.for_others = true;
        return said;
    }
    // A proxy that relays what it decrypted had the TLS with the client: only it knows.
    return from.tls || (from.relayed ? said : from.local);
}

// None of the ways that need no body: a POST may carry its key in its body (API §2, way 4).
need exchange::seek_in_body(http::framing const& framing, http::response& answer) {
    auto& s = *state_;
    if (!s.rules->allow_body || s.foreign() || s.method != http::method::post ||
        framing.body == body_kind::none)
        return refused(problem::key_missing, answer);
    s.credential_in_body = true;
    if (framing.body == body_kind::sized && framing.content_length > body_bytes_max())
        return refused(problem::body_too_large, answer);
    s.odd_expectation = framing.expect_unknown;
    return need::body;
}

// A key that is nobody's counts against the address it came from; one that is known never does.
bool exchange::accept_key(desk& at, auth::verdict const& verdict, base::instant now,
                          http::response& answer) {
    auto& s = *state_;
    s.who = verdict.who;
    s.known_at = now.wall;
    if (verdict.problem == problem::none) {
        at.buckets.prefetch(s.who->record().id);
        if (at.uses != nullptr) at.uses->note(s.who->record().id, now.wall);
        return true;
    }
    if (verdict.problem == problem::key_invalid && s.client)
        s.failures_wait = at.failures.count(*s.client, now.mono);
    if (s.failures_wait != 0 && !s.for_others)
        s.heard_again = at.failures.hear_again(*s.client, now.mono);
    refused(s.failures_wait != 0 ? problem::too_many_auth_failures : verdict.problem, answer);
    return false;
}

bool exchange::admit(desk& at, base::instant now, http::response& answer) {
    auto& s = *state_;
    auto const& limits = s.who->limits();
    s.quota = at.buckets.admit(s.who->record().id, limits, now.mono, 1);
    s.admitted = true;
    if (s.quota.admitted()) return true;
    refused(problem::rate_limited, answer);
    return false;
}

// The route (404, 405, and OPTIONS, which every path answers), then its scope.
bool exchange::find_handler(http::request const& request, http::response& answer) {
    auto& s = *state_;
    bool const asks_server = request.path == http::asterisk_path;
    if (s.where.pattern.empty() && !asks_server)
        return refused(problem::route_not_found, answer), false;
    // Not earlier: who has no key must not learn which paths exist.
    if (s.where.unprefixed) s.canonical.append(prefix).append(request.path);
    if (request.method == http::method::options) return answer_options(answer), false;
    if (s.where.chosen == nullptr) return refused(problem::method_not_allowed, answer), false;
    auto const& route = *s.where.chosen;
    auto const lacks = [&](model::scope scope) {
        bool const may = scope == model::scope::events_write
                             ? s.who->record().scopes.allows_events_of(s.event_source)
                             : s.who->may(scope);
        if (may) return false;
        refused({problem::insufficient_scope,
                 "the key lacks the scope " + std::string(model::name_of(scope)),
                 {},
                 model::name_of(scope)},
                answer);
        return true;
    };
    if (route.scope && lacks(*route.scope)) return false;
    auto const* const reading = std::get_if<read>(&route.run);
    auto const also = reading && reading->also ? reading->also(request.query) : std::nullopt;
    return !also || !lacks(*also);
}

bool exchange::check_head(http::request const& request, bool has_body, bool odd_expectation,
                          http::response& answer) {
    if (!accepts_json(request)) return refused(problem::not_acceptable, answer), false;
    if (takes_body() && has_body && !has_json_body(request))
        return refused(problem::unsupported_media_type, answer), false;
    if (odd_expectation) return refused(problem::expectation_failed, answer), false;
    return true;
}

bool exchange::takes_body() const {
    auto const& route = *state_->where.chosen;
    if (std::holds_alternative<ask>(route.run)) return true;
    auto const* const writing = std::get_if<write>(&route.run);
    return writing != nullptr && writing->body;
}

}  // namespace latchkey::api
