// The state of one request between the steps of its exchange, and the checks that it passes.
// Private to exchange*.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "api/exchange/next_step.hpp"
#include "api/frame/charge.hpp"
#include "api/frame/checks/credential.hpp"
#include "api/frame/event_stream.hpp"
#include "api/frame/request_id.hpp"
#include "api/frame/request_services.hpp"
#include "api/frame/route.hpp"

namespace latchkey::api {

// The event for which a request waits before its check is asked again.
enum class wait_kind : std::uint8_t {
    none,
    position,  // of the store
    tokens,    // of a key's limits
    turn       // the next one, in which its handler goes on
};

// Made anew for each request, so that nothing of the one before it is left. The constructor is
// user-provided: otherwise all bytes would be zeroed first.
struct request_state {
    request_state() noexcept {}
    request_state(request_services& services, http::request const& request, api::peer const& peer);

    api::settings const* settings = nullptr;
    auth::usage_counter* uses = nullptr;
    unsigned check = 0;  // of the order of checks: the one that ended the last step
    wait_kind wait = wait_kind::none;

    // ---- the request
    api::request_id request_id;
    api::trace_id trace_id;
    http::method method = http::method::get;
    bool has_body = false;
    bool may_be_empty = false;   // of a body that has begun without a length
    bool is_coded = false;       // Content-Encoding
    bool is_unreadable = false;  // of another media type or coded: an error unless it is empty
    bool body_complete = false;  // it was read
    bool unknown_expectation = false;
    bool masks_limits = false;          // ?limit_status=403
    std::uint64_t announced_bytes = 0;  // of the body, by Content-Length
    match matched;                      // `variable` is valid while the head is
    std::optional<model::id> path_id;
    std::string event_source;    // of the path; empty: it names none
    std::string canonical_path;  // of a path without the prefix

    // ---- the client
    bool tls = false;
    bool is_local = false;    // peer::local
    bool is_relayed = false;  // peer::relayed
    bool is_proxy = false;    // peer::is_proxy
    bool is_shared = false;   // a proxy or a gateway: its connection carries other clients
    std::optional<model::address> client;
    model::address failure_address = limit::unknown_client;  // failed authentications count here
    std::uint32_t retry_after = 0;  // seconds for which the client is refused for its failures
    base::mono_ns resume_reading_at = 0;

    // ---- its key
    bool needs_key = false;
    bool credential_in_body = false;
    key_source source = key_source::none;
    auth::verdict verdict;  // of the look-up; its caller goes to `principal`
    std::optional<auth::browser_session> session;
    std::optional<auth::principal> principal;
    base::wall_ms authenticated_at = 0;
    bool was_charged = false;  // the key's limits were asked, whatever they said
    limit::decision quota;
    token_wait tokens;

    // ---- its read in steps, its stream from its handler to the session
    std::unique_ptr<steps> reading;
    bool wants_events = false;
    std::unique_ptr<event_stream> events;

    // ---- its write
    std::optional<domain::command> command;
    std::optional<domain::idempotency> idempotency;
    in_progress::claim claim;  // with `idempotency`, until the response is made
    write const* writing = nullptr;
    std::optional<auth::fresh_key> fresh_key;  // shown once, by the response

    bool is_external() const;  // write::external of the route
    // The key came by a way on which others may have read it (api.md §16): the one of `verdict`, or
    // one in a head that is refused for that.
    void note_exposed() const;
    void note_exposed(http::request const& request) const;
    bool takes_body() const;
    bool takes_form() const;
    std::size_t body_bytes_max() const;
};

struct exchange_state {
    request_state request;
    api::query query;  // parsed anew before each handler
};

// The input of a step of the exchange, from its caller.
struct exchange_input {
    request_services& services;
    http::request const& request;
    base::instant now;
    http::response& response;
    api::query& query;
};

// The result of a check: nullopt, the request passes to the next one; else its response is
// complete, or it waits for something before this check is asked again.
using check_result = std::optional<next_step>;
using check_fn = check_result (*)(request_state&, exchange_input const&);
inline constexpr std::nullopt_t passes = std::nullopt;

// Who makes the contexts of handlers: nobody else can (request_context.hpp).
struct request_handlers {
    static next_step run(request_state& state, exchange_input const& input);
    static next_step ask(request_state& state, exchange_input const& input);  // of a gateway
};

// From a request that passed the checks to its handler (exchange_run.cpp).
check_result serve_public(request_state& state, exchange_input const& input);
check_result serve_gateway(request_state& state, exchange_input const& input);
next_step serve_options(request_state const& state, http::response& response);
check_result await_position(request_state& state, exchange_input const& input);
check_result replay_outcome(request_state& state, exchange_input const& input);
check_result run_handler(request_state& state, exchange_input const& input);
void answer_outcome(request_state& state, request_services& services,
                    domain::outcome const& outcome, http::response& response);

// Refusals, and what all responses share (exchange_answer.cpp). They complete the response.
next_step refuse(request_state const& state, base::problem problem, http::response& response);
next_step refuse(request_state const& state, api_error error, http::response& response);
// A refusal that names the limit of this request.
api_error excess_error(request_state const& state, base::problem problem);
next_step add_common_headers(request_state const& state, http::response& response);

}  // namespace latchkey::api
