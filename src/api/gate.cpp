// API §3's order of checks: the only way from a request to a handler.
#include "api/credential.hpp"
#include "api/exchange.hpp"
#include "api/handlers.hpp"
#include "api/negotiate.hpp"
#include "api/problem.hpp"
#include "api/request_id.hpp"
#include "api/route.hpp"
#include "base/check.hpp"

namespace latchkey::api {
namespace {

using base::problem;
using http::field_name;
using body_kind = http::framing::body_kind;

constexpr std::uint32_t overload_retry_seconds = 1;
constexpr std::string_view transport_security = "max-age=31536000";

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

}  // namespace

// What is known of the request in hand. Reused; strings keep their capacity.
struct exchange::state {
    settings const* rules = nullptr;
    class request_id id;
    class trace_id trace;
    std::optional<model::address> client;
    match where;  // its `last` is only looked at while the head is there
    std::optional<model::id> path_id;
    http::method method = http::method::get;
    bool tls = false;
    bool credential_in_body = false;
    bool odd_expectation = false;  // to be refused once the credential in the body was looked at
    bool by_key = false;           // a key decides, or would have decided
    key_source source = key_source::none;
    std::optional<auth::principal> who;
    limit::decision quota;
    bool admitted = false;  // the limits were asked, whatever they said
    std::string rate_line;
    std::uint32_t failures_wait = 0;  // seconds that the client must not try further keys
    std::string decoded;              // a credential that was percent-encoded
    std::string canonical;            // the path, where it came without the prefix
    api::query query;
    store::command command;
    write const* writing = nullptr;
    std::optional<auth::fresh_key> made;  // shown once, by the answer
    bool masks_limits = false;

    void start(desk& at, http::request const& request, peer const& from);
};

exchange::exchange() : state_(std::make_unique<state>()) {}
exchange::~exchange() = default;

void exchange::state::start(desk& at, http::request const& request, peer const& from) {
    rules = &at.rules;
    id.take(request.find(field_name::request_id), at.random);
    trace.take(request.find(field_name::traceparent));
    client = from.client;
    method = request.method;
    tls = from.tls;
    credential_in_body = by_key = admitted = false;
    source = key_source::none;
    failures_wait = 0;
    who.reset();
    writing = nullptr;
    canonical.clear();
    where = find_route(request.method, request.path);
    path_id = parse_id(where.last);
    made.reset();
    masks_limits = where.gateway && api::masks_limits(request.query);
}

need exchange::begin(desk& at, http::request const& request, http::framing const& framing,
                     peer const& from, base::instant now, http::response& answer) {
    auto& s = *state_;
    s.start(at, request, from);
    if (!is_secure(request, from)) return refused(problem::https_required, answer);
    if (s.where.open) return serve_open(request, answer);

    s.by_key = true;
    auto const found = find_credential(request, at.rules.allow_query, s.decoded);
    if (found.problem != problem::none) return refused(found.problem, answer);
    if (found.source == key_source::none && s.where.gateway)
        return refused(problem::key_missing, answer);
    if (found.source == key_source::none) return seek_in_body(framing, answer);
    s.source = found.source;
    auto const verdict =
        at.keys.authenticate(found.key, s.client ? &*s.client : nullptr, at.snapshot, now);
    wipe_credentials(request);
    wipe(s.decoded);
    if (!accept_key(at, verdict, now, answer)) return need::nothing;
    if (!admit(at, now, answer)) return need::nothing;
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
        if (found.problem != problem::none) return refused(found.problem, answer);
        s.source = key_source::body;
        auto const verdict =
            at.keys.authenticate(found.key, s.client ? &*s.client : nullptr, at.snapshot, now);
        wipe(found.key);
        wipe_credential(request.body);
        wipe_credentials(request);
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
    bool const proxy = from.client && is_trusted(*s.rules, *from.client);
    if (!proxy) return from.tls || from.local;
    s.client = forwarded_client(*s.rules, request);
    return request.find(field_name::forwarded_proto) == "https" &&
           request.count(field_name::forwarded_proto) == 1;
}

// None of the ways that need no body: a POST may carry its key in its body (API §2, way 4).
need exchange::seek_in_body(http::framing const& framing, http::response& answer) {
    auto& s = *state_;
    if (!s.rules->allow_body || s.method != http::method::post || framing.body == body_kind::none)
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
    if (verdict.problem == problem::none) {
        if (at.uses != nullptr) at.uses->note(s.who->record().id, now.wall);
        return true;
    }
    if (verdict.problem == problem::key_invalid && s.client)
        s.failures_wait = at.failures.count(*s.client, now.mono);
    refused(s.failures_wait != 0 ? problem::too_many_auth_failures : verdict.problem, answer);
    return false;
}

bool exchange::admit(desk& at, base::instant now, http::response& answer) {
    auto& s = *state_;
    auto const& limits = s.who->limits();
    s.quota = at.buckets.admit(s.who->record().id, limits, now.mono, 1);
    s.admitted = true;
    s.rate_line.clear();
    limit::append_header(limits, s.quota, s.rate_line);
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
        if (s.who->may(scope)) return false;
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

// ---- the handler

need exchange::run(desk& at, http::request const& request, base::instant now,
                   http::response& answer) {
    auto& s = *state_;
    auto const& route = *s.where.chosen;
    model::id id = 0;
    if (route.pattern.find("{id}") != route.pattern.npos) {
        if (!s.path_id) return refused(problem::not_found, answer);
        id = *s.path_id;
    }
    if (auto wrong = s.query.parse(request.query)) return refused(std::move(*wrong), answer);
    call const of(request, *s.who, s.quota, now, at.rules, s.query, id, at, s.made);
    if (auto const* const reading = std::get_if<read>(&route.run)) {
        auto wrong = reading->run(of, at.snapshot, answer);
        // A record that cannot be read was left out: that is no answer.
        if (at.snapshot.damaged()) return refused(problem::internal_error, answer);
        return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
    }
    if (auto const* const asking = std::get_if<ask>(&route.run)) {
        auto wrong = asking->run(of, at, answer);
        if (at.snapshot.damaged()) return refused(problem::internal_error, answer);
        return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
    }
    s.writing = &std::get<write>(route.run);
    auto planned = s.writing->plan(of);
    if (!planned) return refused(planned.error(), answer);
    s.command = std::move(*planned);
    s.command.caller = s.who->record().id;
    s.command.needs = route.scope;
    s.command.from = s.client;
    return need::commit;
}

store::command exchange::take_command() {
    return std::move(state_->command);
}

void exchange::answer(desk& at, store::outcome const& outcome, http::response& answer) {
    auto& s = *state_;
    if (outcome.problem != problem::none) {
        auto const& needed = s.where.chosen->scope;
        auto const scope = outcome.problem == problem::insufficient_scope && needed
                               ? model::name_of(*needed)
                               : std::string_view();
        s.made.reset();
        refused({outcome.problem, outcome.detail, outcome.faults, scope}, answer);
        return;
    }
    if (s.writing->show != nullptr)
        s.writing->show(at.rules, outcome, s.made->text(), answer);
    else
        s.writing->answer(at.rules, outcome, answer);
    s.made.reset();
    dressed(answer);
}

need exchange::serve_gateway(desk& at, http::request const& request, base::instant now,
                             http::response& answer) {
    auto& s = *state_;
    if (auto wrong = s.query.parse(request.query)) return refused(std::move(*wrong), answer);
    call const of(request, *s.who, s.quota, now, at.rules, s.query, 0, at, s.made);
    auto wrong = std::get<gateway>(s.where.chosen->run).run(of, answer);
    return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
}

std::string_view call::make_key() const {
    return made_.emplace(rules.key_prefix).text();
}
base::wall_ms call::last_use(model::id key) const {
    return at_.uses == nullptr ? 0 : at_.uses->last(key);
}

need exchange::serve_open(http::request const& request, http::response& answer) {
    auto& s = *state_;
    if (request.method == http::method::options) return answer_options(answer), need::nothing;
    if (s.where.chosen == nullptr) return refused(problem::method_not_allowed, answer);
    auto const& page = std::get<open>(s.where.chosen->run);
    if (page.json && !accepts_json(request)) return refused(problem::not_acceptable, answer);
    if (auto bad = s.query.parse(request.query)) return refused(std::move(*bad), answer);
    if (auto bad = s.query.refuse_rest()) return refused(std::move(*bad), answer);
    auto wrong = page.run(s.where.last, *s.rules, answer);
    return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
}

void exchange::answer_options(http::response& answer) {
    answer.status = 204;
    answer.add("Allow", allowed_methods(state_->where.pattern));
    dressed(answer);
}

// ---- answers

need exchange::refused(base::problem code, http::response& answer) {
    return refused(trouble{code, {}, {}, {}}, answer);
}

need exchange::refused(trouble what, http::response& answer) {
    auto& s = *state_;
    std::array<std::string_view, model::rate_limits_max> violated;
    std::size_t count = 0;
    if (what.problem == problem::rate_limited)
        for (std::size_t i = 0; i < s.who->limits().rules.size(); ++i)
            if (s.quota.violated >> i & 1) violated[count++] = s.who->limits().rules[i].name;
    render_problem(what, *s.rules, s.id.text(), {violated.data(), count}, answer);
    switch (what.problem) {
        case problem::key_missing:
            answer.add("WWW-Authenticate", R"(Bearer realm="api")");
            break;
        case problem::key_invalid:
            answer.add("WWW-Authenticate", R"(Bearer realm="api", error="invalid_token")");
            break;
        case problem::insufficient_scope:
            answer.add("WWW-Authenticate",
                       R"(Bearer realm="api", error="insufficient_scope", scope=")", what.scope,
                       "\"");
            break;
        case problem::method_not_allowed:
            answer.add("Allow", allowed_methods(s.where.pattern));
            break;
        case problem::unsupported_media_type:
            answer.add("Accept", "application/json");
            if (s.method == http::method::patch)
                answer.add("Accept-Patch", "application/merge-patch+json, application/json");
            break;
        case problem::rate_limited:
            answer.add("Retry-After", s.quota.retry_after);
            break;
        case problem::too_many_auth_failures:
            answer.add("Retry-After", s.failures_wait);
            break;
        case problem::overloaded:
        case problem::draining:
            answer.add("Retry-After", overload_retry_seconds);
            break;
        default:
            break;
    }
    // nginx makes a 500 of every answer to auth_request but 2xx, 401 and 403.
    if (s.masks_limits && answer.status == 429) {
        answer.status = 403;
        answer.body.clear();
        answer.content_type = http::content::none;
        answer.add("X-Auth-Status", "429");
    }
    return dressed(answer);
}

// The fields that every answer of this request carries.
need exchange::dressed(http::response& answer) {
    auto const& s = *state_;
    answer.add("X-Request-Id", s.id.text());
    answer.add("X-Content-Type-Options", "nosniff");
    if (s.by_key) answer.add("Vary", "Authorization, X-API-Key");
    if (s.tls && s.rules->strict_transport_security)
        answer.add("Strict-Transport-Security", transport_security);
    if (!s.canonical.empty())
        answer.add("Link", "<", s.rules->base_url, s.canonical, ">; rel=\"canonical\"");
    if (!s.admitted || s.rate_line.empty()) return need::nothing;
    answer.add("RateLimit-Policy", s.who->limits().header);
    answer.add("RateLimit", s.rate_line);
    return need::nothing;
}

void exchange::refuse(desk&, base::problem code, std::string_view detail, http::response& answer) {
    refused({code, std::string(detail), {}, {}}, answer);
    answer.close = true;
}

void refuse_unparsed(desk& at, peer const& from, base::problem code, std::string_view detail,
                     http::response& answer, std::string& id) {
    request_id fresh;
    fresh.take(std::nullopt, at.random);
    id.assign(fresh.text());
    render_problem({code, std::string(detail), {}, {}}, at.rules, id, {}, answer);
    answer.add("X-Request-Id", id);
    answer.add("X-Content-Type-Options", "nosniff");
    if (from.tls && at.rules.strict_transport_security)
        answer.add("Strict-Transport-Security", transport_security);
    if (code == problem::overloaded) answer.add("Retry-After", overload_retry_seconds);
    answer.close = true;
}

// ---- what the log and the connection ask

std::size_t exchange::body_bytes_max() const {
    auto const most = state_->rules->body_bytes_max;
    return state_->credential_in_body ? std::min(most, base::limits::credential_body_bytes_max)
                                      : most;
}
bool exchange::credential_in_body() const {
    return state_->credential_in_body;
}
std::string_view exchange::request_id() const {
    return state_->id.text();
}
std::string_view exchange::trace_id() const {
    return state_->trace.text();
}
std::string_view exchange::route() const {
    return state_->where.pattern;
}
model::id exchange::key_id() const {
    return state_->who ? state_->who->record().id : 0;
}
std::string_view exchange::project() const {
    return state_->who ? std::string_view(state_->who->record().project) : std::string_view();
}
key_source exchange::source() const {
    return state_->source;
}
std::optional<model::address> const& exchange::client() const {
    return state_->client;
}

std::string_view name_of(key_source source) {
    static constexpr std::string_view names[] = {"", "bearer", "header", "query", "body"};
    return names[static_cast<std::size_t>(source)];
}

}  // namespace latchkey::api
