// One request from its head to its response: the checks of api.md §3 in their order, a table in
// exchange.cpp, and the only way to a handler. No sockets and no clock: bytes and time are
// arguments, so a whole request can be tested without a server. One per connection, reused; used on
// the connection's worker.
//
//     next_step next = exchange.begin(services, request, framing, peer, now, response);
//     if (next == next_step::read_body) {
//         … collect at most exchange.body_bytes_max() bytes into request.body …
//         next = exchange.finish(services, request, now, response);
//     }
//     if (next == next_step::commit) {
//         domain::commit commit(writer, executor, exchange.take_command());
//         auto const& outcome = co_await commit;
//         exchange.answer(services, outcome, response);
//     }
//     // next_step::respond: `response` is complete; next_step::commit may also be a wait (`waits`)
//
// In a cluster each of these may return next_step::await_tokens: when the node has news of tokens,
// `resume` goes on with the request, which the caller has kept. So it does in the next turn after
// next_step::await_turn, of a read that is done in steps, so that others are not kept waiting. The
// check that ended a step is asked again by the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/exchange/next_step.hpp"
#include "api/frame/api_error.hpp"
#include "api/frame/checks/credential.hpp"
#include "api/frame/request_services.hpp"
#include "base/clock.hpp"
#include "domain/command.hpp"
#include "wire/http/request.hpp"
#include "wire/http/response.hpp"

namespace latchkey::api {

class event_stream;
struct route;
struct exchange_state;

class exchange {
  public:
    exchange();
    ~exchange();
    exchange(exchange const&) = delete;
    exchange& operator=(exchange const&) = delete;

    // All checks up to the body. `next_step::read_body`: the request has a body and passed (the
    // moment for `100 Continue`); otherwise it is served at once. Overwrites the credential where
    // the request has it, so the bytes behind `request` must be the caller's and writable.
    next_step begin(request_services& services, http::request const& request,
                    http::framing const& framing, peer const& peer, base::instant now,
                    http::response& response);
    // Load shedding, instead of `begin`: 503 at once, before the key is read, since a refusal must
    // cost little. False for the paths that need no key, such as the health check, which must not
    // fail under load: then call `begin`.
    bool turn_away(request_services& services, http::request const& request, peer const& peer,
                   http::response& response);
    // The body is in `request.body`; the other views of `request` hold the same text as in `begin`.
    next_step finish(request_services& services, http::request const& request, base::instant now,
                     http::response& response);
    // The limit of the body; lower while the credential is still to be found in it.
    std::size_t body_bytes_max() const;
    bool ignores_body() const;  // api::ignores_body of its path
    bool credential_in_body() const;

    domain::command take_command();
    // The command only waits for a position of the store (api.md §15): after its outcome `resume`
    // goes on with the request, which the caller has kept; `answer` refuses it.
    bool waits() const;
    // After such a wait, or one for tokens or a turn; any step may follow, also a wait.
    next_step resume(request_services& services, http::request const& request, base::instant now,
                     http::response& response);
    // Uses nothing of the request but what `begin` and `finish` kept.
    void answer(request_services& services, domain::outcome const& outcome,
                http::response& response);

    // Drops what a request that ends in the middle holds.
    void end();

    // The content of the response that was made, where it does not end; else null.
    std::unique_ptr<event_stream> take_event_stream();

    // A refusal by the caller (413 while the body was read, 408): the same document with this
    // request's id; sets `close`.
    void refuse_and_close(base::problem problem, http::response& response);

    // For the access log and the metrics; valid after the response, until the next `begin`.
    std::string_view request_id() const;
    std::string_view trace_id() const;        // of `traceparent`, 32 hexadecimal digits or empty
    std::string_view parent_span_id() const;  // of the same field, 16 digits or empty
    bool is_trace_sampled() const;            // its flag "sampled"
    std::string_view route() const;           // the pattern, "/api/v1/users/{id}", or empty
    api::route const* handler() const;        // its row of routes(); null: none
    http::method method() const;
    model::id key_id() const;  // 0: none; set on 403 and 429 too
    std::string_view project() const;
    key_source source() const;
    // How long the request has waited for tokens; 0: it has not.
    base::mono_ns token_wait_time() const;
    // The limits of its key admitted it, and its connection carries one client only.
    bool let_in() const;
    // The next request of this connection is not to be read earlier (limit::auth_failure_limiter);
    // 0: at once. Never set for a proxy or a gateway, whose connection carries other clients too.
    base::mono_ns resume_reading_at() const;
    // The peer's address, or the one that a trusted proxy forwarded.
    std::optional<model::address> const& client() const;

  private:
    void start(request_services& services, http::request const& request, peer const& peer);

    std::unique_ptr<exchange_state> state_;
};

// The problem document for a request that the parser refused, with a fresh id, which is stored in
// `id` for the log. Sets `close`.
void refuse_unparsed(request_services& services, peer const& peer, base::problem problem,
                     std::string_view detail, http::response& response, std::string& id);

}  // namespace latchkey::api
