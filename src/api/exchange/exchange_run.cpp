// From a request that passed the checks to its handler, and from a committed outcome to its
// response.
#include <charconv>
#include <utility>

#include "api/exchange/exchange_state.hpp"
#include "api/exchange/public_routes.hpp"
#include "api/frame/checks/idempotency_check.hpp"
#include "api/frame/checks/negotiate.hpp"
#include "api/frame/checks/precondition.hpp"
#include "api/frame/json/effective_time.hpp"
#include "api/frame/json/json_writer.hpp"
#include "base/time_units.hpp"

namespace latchkey::api {
namespace {

using base::problem;

// The longest wait of a request for a position of the store.
constexpr base::mono_ns consistency_patience = base::second;

std::optional<std::uint64_t> parse_consistency_token(std::string_view text) {
    std::uint64_t position = 0;
    auto const* const end = text.data() + text.size();
    auto const read = std::from_chars(text.data(), end, position);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return position;
}

void tell_effective_time(domain::outcome const& outcome, http::response& response) {
    response.status = 202;
    response.content_type = http::content::json;
    append_effective_time(response.body, outcome.effective_by, outcome.effective_in);
}

api_error invalid_consistency_token() {
    return make_error(problem::malformed_request,
                      "`Consistency-Token` must be there once, as a response had it.");
}

api_error invalid_idempotency_key() {
    return make_error(
        problem::idempotency_key_invalid, {},
        {base::fault::location_kind::header, "Idempotency-Key", base::field_code::invalid_format,
         "must be there once, with 1 to 255 visible ASCII characters"});
}

next_step commit(request_state& state, domain::command command) {
    command.caller = state.principal->record().id;
    command.required_scope = state.matched.route->scope;
    if (auto const* const token = state.principal->token()) command.token_scopes = token->scopes;
    command.address = state.client;
    command.idempotency = state.idempotency;
    state.command = std::move(command);
    return next_step::commit;
}

// Under an Idempotency-Key a refusal is an outcome too, which the store keeps.
next_step refuse_plan(request_state& state, api_error error, http::response& response) {
    if (!state.idempotency || !domain::is_kept(error.problem))
        return refuse(state, std::move(error), response);
    domain::command command;
    command.action = domain::refuse{error.problem, std::move(error.detail)};
    command.faults = std::move(error.faults);
    return commit(state, std::move(command));
}

next_step conclude(request_state const& state, std::optional<api_error> error,
                   http::response& response) {
    return error ? refuse(state, std::move(*error), response) : add_common_headers(state, response);
}

void refuse_outcome(request_state const& state, request_services& services,
                    domain::outcome const& outcome, http::response& response) {
    auto const& needed = state.matched.route->scope;
    auto const scope = outcome.problem == problem::insufficient_scope && needed
                           ? model::name_of(*needed)
                           : std::string_view();
    bool const is_expired = outcome.problem == problem::changes_expired;
    refuse(state,
           {outcome.problem, outcome.detail, outcome.faults, scope,
            is_expired ? services.snapshot.changes().oldest : 0},
           response);
}

void render_outcome(request_state const& state, request_services& services,
                    domain::outcome const& outcome, http::response& response) {
    if (state.writing->show != nullptr)
        // A key is shown once: not in the response to a repeat. A record of kind `jwt` has none.
        state.writing->show(services.settings, outcome,
                            outcome.replayed || !state.fresh_key ? "" : state.fresh_key->text(),
                            response);
    else
        state.writing->answer(services.settings, outcome, response);
    // After a PUT an ETag would say that the representation was kept as it was sent (RFC 9110
    // §9.3.4), but times are added to it.
    if (state.method != http::method::put && response.status != 204) add_tag(response, outcome);
    if (outcome.position != 0) response.add("Consistency-Token", outcome.position);
    if (outcome.effective_by != 0) tell_effective_time(outcome, response);
    add_common_headers(state, response);
}

next_step open_stream(request_state& state, request_services& services,
                      request_context const& context, http::response& response) {
    auto const open = std::get<read>(state.matched.route->run).stream;
    event_reader reader{*state.principal, state.client, *state.matched.route->scope, state.session};
    auto stream = open(context, services, std::move(reader));
    if (services.snapshot.damaged()) return refuse(state, problem::internal_error, response);
    if (!stream) return refuse(state, stream.error(), response);
    response.content_type = http::content::event_stream;
    // nginx would keep events until a buffer of its own is full.
    response.add_lines("Cache-Control: no-store\r\nX-Accel-Buffering: no\r\nVary: Accept\r\n");
    if (auto error = check_conditions(context.request, response))
        return refuse(state, std::move(*error), response);
    if (response.status != 304) state.events = std::move(*stream);
    return add_common_headers(state, response);
}

}  // namespace

// Reading one's writes on any node (api.md §15): a request that names a position waits for it, as
// if it were a commit.
check_result await_position(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    services.snapshot.clear_damage();  // of other requests of this turn
    if (std::exchange(state.wait, wait_kind::none) == wait_kind::position) return passes;
    auto const token = request.find(http::field_name::consistency_token);
    if (!token || !services.is_node) [[likely]]
        return passes;
    auto const position = parse_consistency_token(*token);
    if (!position || request.count(http::field_name::consistency_token) > 1)
        return refuse(state, invalid_consistency_token(), response);
    if (*position <= services.snapshot.position()) return passes;
    state.wait = wait_kind::position;
    state.command.emplace().action =
        domain::await_position{*position, now.mono + consistency_patience};
    return next_step::commit;
}

// api.md §9, where an Idempotency-Key counts.
check_result replay_outcome(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    auto const& route = *state.matched.route;
    state.writing = std::get_if<write>(&route.run);
    auto const value = request.find(http::field_name::idempotency_key);
    if (!value || !takes_idempotency_key(route)) return passes;
    auto const key = read_idempotency_key(*value);
    if (!key || request.count(http::field_name::idempotency_key) > 1)
        return refuse(state, invalid_idempotency_key(), response);
    auto const path =
        state.canonical_path.empty() ? request.path : std::string_view(state.canonical_path);
    // A successor of a rotated key is the same caller, except on a path that means the caller's
    // own key: there each key of the line has its own outcomes.
    auto const& caller = state.principal->record();
    auto const owner = route.scope ? caller.line() : caller.id;
    state.idempotency = {owner, auth::digest_of(*key),
                         fingerprint(request, path, state.writing->external)};
    // Each external event must be signed, so the store looks for a repeat after that check. So it
    // does in a cluster, where the answer to a repeat waits for the other nodes as the first did.
    if (!state.writing->external && !services.is_node) {
        if (auto const outcome = services.snapshot.find_outcome(*state.idempotency, now.wall)) {
            answer_outcome(state, services, *outcome, response);
            return next_step::respond;
        }
    }
    state.claim = services.running.enter(state.idempotency->lineage, state.idempotency->key);
    if (state.claim) return passes;
    return refuse(state, problem::idempotency_in_progress, response);
}

next_step request_handlers::run(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    auto const& route = *state.matched.route;
    if (!state.path_id && route.pattern.find("{id}") != route.pattern.npos)
        return refuse_plan(state, make_error(problem::not_found), response);
    query.parse(request.query);
    request_context const context(
        services, request, *state.principal, state.quota, now, query,
        {state.source, state.session, state.path_id.value_or(0), state.event_source,
         state.fresh_key, state.tokens, state.reading});
    if (state.wants_events) return open_stream(state, services, context, response);
    if (auto const* const reading = std::get_if<read>(&route.run)) {
        auto error = reading->run(context, services.snapshot, response);
        // A damaged record was left out, so the response would be wrong.
        if (services.snapshot.damaged()) return refuse(state, problem::internal_error, response);
        if (!error && state.reading && std::exchange(state.reading->is_pending, false)) {
            state.wait = wait_kind::turn;
            return next_step::await_turn;
        }
        state.reading.reset();
        if (!error) error = check_conditions(request, response);
        return conclude(state, std::move(error), response);
    }
    if (auto const* const acting = std::get_if<action>(&route.run)) {
        state.tokens.is_pending = false;
        auto error = acting->run(context, services, response);
        if (services.snapshot.damaged()) return refuse(state, problem::internal_error, response);
        if (state.tokens.is_pending) {
            state.wait = wait_kind::tokens;
            return next_step::await_tokens;
        }
        return conclude(state, std::move(error), response);
    }
    auto plan = state.writing->plan(context);
    if (services.snapshot.damaged()) return refuse(state, problem::internal_error, response);
    if (!plan) return refuse_plan(state, plan.error(), response);
    // Only what has an id has an ETag for If-Match to name.
    bool const is_required = services.settings.require_if_match &&
                             request.method != http::method::post && state.path_id.has_value();
    plan->conditions = take_conditions(request, is_required);
    return commit(state, std::move(*plan));
}

check_result run_handler(request_state& state, exchange_input const& input) {
    if (std::exchange(state.wait, wait_kind::none) != wait_kind::none)
        input.services.snapshot.clear_damage();  // of other requests of this turn
    auto const next = request_handlers::run(state, input);
    if (next == next_step::respond) state.claim.release();
    return next;
}

void answer_outcome(request_state& state, request_services& services,
                    domain::outcome const& outcome, http::response& response) {
    if (outcome.problem != problem::none)
        refuse_outcome(state, services, outcome, response);
    else
        render_outcome(state, services, outcome, response);
    state.fresh_key.reset();
    state.claim.release();
    if (outcome.replayed) response.add("Idempotency-Replayed", "true");
}

// Nothing of the head is checked for a gateway, which passes on its client's.
check_result serve_gateway(request_state& state, exchange_input const& input) {
    if (!state.matched.gateway) return passes;
    return request_handlers::ask(state, input);
}

next_step request_handlers::ask(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    // Below the folder the query is that of the gateway's client.
    query.parse(request.path.starts_with(gateway_folder) ? std::string_view() : request.query);
    request_context const context(
        services, request, *state.principal, state.quota, now, query,
        {state.source, state.session, 0, {}, state.fresh_key, state.tokens, state.reading});
    return conclude(state, std::get<gateway>(state.matched.route->run).run(context, response),
                    response);
}

// A person has followed a link, or typed an address. Below the prefix clients are programs.
bool is_lost_browser(request_state const& state, http::request const& request) {
    bool const reads = request.method == http::method::get || request.method == http::method::head;
    return reads && state.matched.pattern.empty() && !request.path.starts_with(prefix) &&
           asks_for_html(request);
}

check_result serve_public(request_state& state, exchange_input const& input) {
    auto& [services, request, now, response, query] = input;
    bool const is_lost = is_lost_browser(state, request);
    if (!state.matched.is_public && !is_lost) return passes;
    wipe_credentials(request);  // not used
    if (is_lost)
        return conclude(state, show_missing({{}, request, *state.settings}, response), response);
    if (request.method == http::method::options) return serve_options(state, response);
    if (state.matched.route == nullptr) return refuse(state, problem::method_not_allowed, response);
    auto const& page = std::get<public_route>(state.matched.route->run);
    if (page.json && !accepts_json(request))
        return refuse(state, problem::not_acceptable, response);
    query.parse(page.ignores_query() ? std::string_view() : request.query);
    if (auto error = query.refuse_rest()) return refuse(state, std::move(*error), response);
    auto error = page.run({state.matched.variable, request, *state.settings}, response);
    if (!error && !response.find("ETag").empty()) error = check_conditions(request, response);
    return conclude(state, std::move(error), response);
}

next_step serve_options(request_state const& state, http::response& response) {
    response.status = 204;
    response.add("Allow", allowed_methods(state.matched.pattern));
    return add_common_headers(state, response);
}

}  // namespace latchkey::api
