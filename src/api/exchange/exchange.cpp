// The life of a request, and its checks in the order of api.md §3. They run until one does not let
// the request pass: it is answered then, or waits, and the same check is asked again after that.
#include "api/exchange/exchange.hpp"

#include <array>
#include <utility>

#include "api/exchange/exchange_checks.hpp"
#include "api/exchange/exchange_size.hpp"
#include "api/exchange/exchange_state.hpp"

namespace latchkey::api {
namespace {

constexpr std::array<check_fn, 14> checks{
    require_https,   // 403, before anything is told
    serve_public,    // a path that needs no key ends here
    identify,        // which key: 401; one in the body is read first. Wipes it
    require_lease,   // 503 of a node that may not know the newest keys
    accept_key,      // its state: 401, 403, 429 for failures of its address
    charge_key,      // its limits: 429; from here on the request is counted
    serve_gateway,   // a question of a gateway ends here
    find_handler,    // 404, 405, OPTIONS
    require_scopes,  // 403
    negotiate,       // 406, 415, 417
    read_body,       // 413 and 408 by the session, 415
    await_position,  // the store's, of Consistency-Token
    replay_outcome,  // of the same Idempotency-Key
    run_handler,
};

// A fold over constants: the compiler puts the checks of `begin` into one function.
template <std::size_t... Index>
[[gnu::always_inline]] inline next_step run_checks(request_state& state,
                                                   exchange_input const& input, unsigned first,
                                                   std::index_sequence<Index...> /*all*/) {
    check_result result;
    static_cast<void>(((Index >= first && (result = checks[Index](state, input)) &&
                        (state.check = unsigned{Index}, true)) ||
                       ...));
    return *result;
}

[[gnu::always_inline]] inline next_step run_checks(request_state& state,
                                                   exchange_input const& input, unsigned first) {
    return run_checks(state, input, first, std::make_index_sequence<checks.size()>());
}

}  // namespace

exchange::exchange() : state_(std::make_unique<exchange_state>()) {}
exchange::~exchange() = default;

std::size_t exchange_state_bytes() {
    return sizeof(exchange_state);
}

void exchange::start(request_services& services, http::request const& request, peer const& peer) {
    std::destroy_at(&state_->request);
    std::construct_at(&state_->request, services, request, peer);
}

next_step exchange::begin(request_services& services, http::request const& request,
                          http::framing const& framing, peer const& peer, base::instant now,
                          http::response& response) {
    start(services, request, peer);
    using body_kind = http::framing::body_kind;
    auto& state = state_->request;
    state.has_body = framing.body == body_kind::chunked || framing.content_length > 0;
    // Who waits for 100 has content to send (RFC 9110 §10.1.1).
    state.may_be_empty = framing.body == body_kind::chunked && !framing.expect_continue;
    state.unknown_expectation = framing.expect_unknown;
    if (framing.body == body_kind::sized) state.announced_bytes = framing.content_length;
    return run_checks(state, {services, request, now, response, state_->query}, 0);
}

bool exchange::turn_away(request_services& services, http::request const& request, peer const& peer,
                         http::response& response) {
    start(services, request, peer);
    if (state_->request.matched.is_public) return false;
    wipe_credentials(request);
    refuse(state_->request, base::problem::overloaded, response);
    return true;
}

next_step exchange::finish(request_services& services, http::request const& request,
                           base::instant now, http::response& response) {
    auto& state = state_->request;
    state.has_body = !request.body.empty();
    state.may_be_empty = false;
    state.body_complete = true;
    return resume(services, request, now, response);
}

next_step exchange::resume(request_services& services, http::request const& request,
                           base::instant now, http::response& response) {
    auto& state = state_->request;
    return run_checks(state, {services, request, now, response, state_->query}, state.check);
}

bool exchange::waits() const {
    return state_->request.wait == wait_kind::position;
}

domain::command exchange::take_command() {
    auto command = std::move(*state_->request.command);
    state_->request.command.reset();  // a moved-from command may still hold a secret
    return command;
}

void exchange::answer(request_services& services, domain::outcome const& outcome,
                      http::response& response) {
    auto& state = state_->request;
    if (std::exchange(state.wait, wait_kind::none) == wait_kind::position)
        refuse(state, outcome.problem, response);
    else
        answer_outcome(state, services, outcome, response);
}

void exchange::end() {
    state_->request.reading.reset();
}

std::unique_ptr<event_stream> exchange::take_event_stream() {
    return std::move(state_->request.events);
}

void exchange::refuse_and_close(base::problem problem, http::response& response) {
    auto const& state = state_->request;
    if (problem == base::problem::body_too_large && state.is_unreadable)
        refuse_body_form(state, response);
    else
        refuse(state, excess_error(state, problem), response);
    response.close = true;
}

// ---- what the access log and the connection read

std::size_t exchange::body_bytes_max() const {
    return state_->request.body_bytes_max();
}
bool exchange::ignores_body() const {
    return state_->request.matched.gateway;
}
bool exchange::credential_in_body() const {
    return state_->request.credential_in_body;
}
std::string_view exchange::request_id() const {
    return state_->request.request_id.text();
}
std::string_view exchange::trace_id() const {
    return state_->request.trace_id.text();
}
std::string_view exchange::parent_span_id() const {
    return state_->request.trace_id.parent();
}
bool exchange::is_trace_sampled() const {
    return state_->request.trace_id.is_sampled();
}
std::string_view exchange::route() const {
    return state_->request.matched.pattern;
}
route const* exchange::handler() const {
    return state_->request.matched.route;
}
http::method exchange::method() const {
    return state_->request.method;
}
model::id exchange::key_id() const {
    auto const& principal = state_->request.principal;
    return principal ? principal->record().id : 0;
}
std::string_view exchange::project() const {
    auto const& principal = state_->request.principal;
    return principal ? std::string_view(principal->record().project) : std::string_view();
}
base::mono_ns exchange::resume_reading_at() const {
    return state_->request.resume_reading_at;
}
key_source exchange::source() const {
    return state_->request.source;
}
base::mono_ns exchange::token_wait_time() const {
    return state_->request.tokens.duration;
}
bool exchange::let_in() const {
    auto const& state = state_->request;
    return state.was_charged && state.quota.admitted() && !state.is_shared;
}
std::optional<model::address> const& exchange::client() const {
    return state_->request.client;
}

}  // namespace latchkey::api
