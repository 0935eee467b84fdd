// Sessions of browsers (api.md §18): a key is shown once, and exchanged for a cookie that only this
// service can read.
#include <algorithm>

#include "api/frame/json/json_writer.hpp"
#include "api/frame/request_services.hpp"
#include "api/frame/resource.hpp"
#include "api/sessions/session_routes.hpp"

namespace latchkey::api {
namespace {

using base::problem;
using base::wall_ms;

constexpr wall_ms session_ms = 3'600'000, session_ms_max = 12 * session_ms;
constexpr std::string_view cookie_rules = "; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=";

}  // namespace

// With a key it begins, with a session it goes on, for half a day at most.
std::optional<api_error> start_session(request_context const& context, request_services& services,
                                       http::response& response) {
    if (services.sessions == nullptr) return make_error(problem::route_not_found);
    if (auto error = context.query.refuse_rest()) return error;
    bool const is_key =
        context.source == key_source::bearer || context.source == key_source::header;
    if (!is_key && !context.session)
        return make_error(problem::key_missing, "Send the key in the field Authorization.");
    auto const now = context.now.wall;
    auto const& key = context.principal.record();
    auto session = context.session.value_or(
        auth::browser_session{.key_digest = key.digest,
                              .generation = services.snapshot.sessions_generation(key.id),
                              .started_at = now});
    session.expires_at = std::min(now + session_ms, session.started_at + session_ms_max);
    response.add("Set-Cookie", session_cookie, "=", services.sessions->seal(session), cookie_rules,
                 (session.expires_at - now) / 1000);
    response.body.append("{\"key_id\":");
    append_number(response.body, key.id);
    append_name(response.body, "started_at");
    append_timestamp(response.body, session.started_at);
    append_name(response.body, "expires_at");
    append_timestamp(response.body, session.expires_at);
    response.body.push_back('}');
    show_written(response);
    return std::nullopt;
}

// The browser forgets it. Who has copied the cookie still has it: see `plan_end_sessions`.
std::optional<api_error> end_session(request_context const& context, request_services&,
                                     http::response& response) {
    if (auto error = context.query.refuse_rest()) return error;
    response.status = 204;
    response.add("Cache-Control", "no-store");
    response.add("Set-Cookie", session_cookie, "=", cookie_rules, 0);
    return std::nullopt;
}

api_result<domain::command> plan_end_sessions(request_context const& context) {
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    command.action = domain::end_sessions{context.principal.record().id};
    return command;
}

}  // namespace latchkey::api
