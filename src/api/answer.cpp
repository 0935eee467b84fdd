// What every answer carries, refusals above all, and what the log asks of an exchange.
#include "api/exchange_state.hpp"
#include "api/problem.hpp"

namespace latchkey::api {
namespace {

using base::problem;

constexpr std::uint32_t overload_retry_seconds = 1;
constexpr std::string_view transport_security = "max-age=31536000";

void announce(deprecation const& of, http::response& answer) {
    answer.add("Deprecation", of.since);
    if (!of.sunset.empty()) answer.add("Sunset", of.sunset);
    if (!of.link.empty())
        answer.add("Link", "<", of.link, ">; rel=\"deprecation\"; type=\"text/html\"");
}

}  // namespace

need exchange::refused(base::problem code, http::response& answer) {
    return refused(trouble{code, {}, {}, {}}, answer);
}

need exchange::refused(trouble what, http::response& answer) {
    auto& s = *state_;
    std::array<std::string_view, model::rate_limits_max> violated;
    std::size_t count = 0;
    if (what.problem == problem::rate_limited)
        for (std::size_t i = 0; i < s.who->limits().rules.size(); ++i)
            if (s.quota.violated >> i & 1) violated[count++] = s.who->limits().rules[i].name();
    render_problem(what, *s.rules, s.id.text(), {violated.data(), count}, answer);
    switch (what.problem) {
        case problem::key_missing:
        case problem::signature_invalid:
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

// The fields that every answer of this request carries. Every request comes here once, so its use
// of the key is counted here, whatever the answer.
need exchange::dressed(http::response& answer) {
    auto const& s = *state_;
    if (s.who && s.uses != nullptr)
        s.uses->count(s.who->record().id, s.known_at, answer.status,
                      s.admitted && !s.quota.admitted());
    answer.add_with("X-Request-Id", s.id.text().size(),
                    [&](base::text_writer& value) { value.put(s.id.text()); });
    if (s.by_key)
        answer.add_lines("X-Content-Type-Options: nosniff\r\nVary: Authorization, X-API-Key\r\n");
    else
        answer.add_lines("X-Content-Type-Options: nosniff\r\n");
    if (s.tls && s.rules->strict_transport_security)
        answer.add("Strict-Transport-Security", transport_security);
    if (!s.canonical.empty())
        answer.add("Link", "<", s.rules->base_url, s.canonical, ">; rel=\"canonical\"");
    // Only to those who may learn which routes exist.
    if (s.admitted || s.where.open)
        for (auto const& each : s.rules->deprecations)
            if (each.of == s.where.chosen) announce(each, answer);
    if (!s.admitted || s.quota.count == 0) return need::nothing;
    auto const& limits = s.who->limits();
    answer.add_with("RateLimit-Policy", limits.header.size(),
                    [&](base::text_writer& value) { value.put(limits.header); });
    answer.add_with("RateLimit", limits.standings_bytes_max, [&](base::text_writer& value) {
        limit::put_standings(limits, s.quota, value);
    });
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
    if (state_->foreign()) return std::min(most, base::limits::event_bytes_max);
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
route const* exchange::handler() const {
    return state_->where.chosen;
}
http::method exchange::method() const {
    return state_->method;
}
model::id exchange::key_id() const {
    return state_->who ? state_->who->record().id : 0;
}
std::string_view exchange::project() const {
    return state_->who ? std::string_view(state_->who->record().project) : std::string_view();
}
base::mono_ns exchange::heard_again() const {
    return state_->heard_again;
}
key_source exchange::source() const {
    return state_->source;
}
bool exchange::let_in() const {
    return state_->admitted && state_->quota.admitted() && !state_->for_others;
}
std::optional<model::address> const& exchange::client() const {
    return state_->client;
}

std::string_view name_of(key_source source) {
    static constexpr std::string_view names[] = {"", "bearer", "header", "query", "body"};
    return names[static_cast<std::size_t>(source)];
}

}  // namespace latchkey::api
