// One request from its head to its answer: API §3's order of checks, on one screen (gate.cpp), and
// the only way to a handler. No sockets and no clock: bytes and time are arguments, so a whole
// request can be tested without a server. One per connection, reused; belongs to the connection's
// worker.
//
//     need then = exchange.begin(desk, request, framing, peer, now, response);
//     if (then == need::body)   { … collect at most exchange.body_bytes_max() … ; then =
//     exchange.finish(…); } if (then == need::commit) { store::commit done(writer, home,
//     exchange.take_command());
//                                 auto const& outcome = co_await done; exchange.answer(desk,
//                                 outcome, response); }
//     // need::nothing: `response` is complete
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/in_progress.hpp"
#include "api/settings.hpp"
#include "api/trouble.hpp"
#include "auth/cache.hpp"
#include "auth/seal.hpp"
#include "auth/uses.hpp"
#include "base/clock.hpp"
#include "http/request.hpp"
#include "http/response.hpp"
#include "limit/failures.hpp"
#include "limit/leases.hpp"
#include "store/command.hpp"
#include "store/snapshot.hpp"

namespace latchkey::api {

// Where a request came from. `client` is the peer's address; nullopt on a Unix socket, and where a
// PROXY header says that nobody knows it.
struct peer {
    bool tls = false;
    bool local = false;    // loopback or Unix socket
    bool relayed = false;  // a PROXY header named the client: this is the client of a trusted proxy
    std::optional<model::address> client;
};

// What a worker answers from. References; all outlive the worker's connections.
struct desk {
    settings const& rules;
    store::snapshot& snapshot;
    auth::cache& keys;
    limit::leases& buckets;  // the worker's door to them
    limit::failures& failures;
    auth::seal const& cursors;
    std::uint64_t& random;  // state of a small generator, for request ids; seeded by the OS
    in_progress& running;
    auth::uses* uses = nullptr;  // what keys were used for; null: nobody wants to know
};

enum class need : std::uint8_t { nothing, body, commit };

enum class key_source : std::uint8_t { none, bearer, header, query, body };
std::string_view name_of(key_source source);

struct route;

class exchange {
  public:
    exchange();
    ~exchange();
    exchange(exchange const&) = delete;
    exchange& operator=(exchange const&) = delete;

    // Everything up to the body. `need::body` is answered when the framing has one and all checks
    // before it passed (now is the time for `100 Continue`), else the request is served at once.
    // The bytes of the credential are overwritten where the request shows them, so they must lie in
    // memory of the caller's that may be written.
    need begin(desk& at, http::request const& request, http::framing const& framing,
               peer const& from, base::instant now, http::response& response);
    // Instead of `begin`, when the worker is overloaded: 503 at once, whoever asks. False, and
    // `begin` is to be called, for the paths that need no key: they tell whether the service lives.
    bool turn_away(desk& at, http::request const& request, peer const& from,
                   http::response& response);
    // The body is in `request.body`; the other views of `request` are the same text as in `begin`.
    need finish(desk& at, http::request const& request, base::instant now,
                http::response& response);
    // How large the body may be: smaller while the credential is still looked for in it.
    std::size_t body_bytes_max() const;
    bool credential_in_body() const;

    store::command take_command();
    // Needs nothing of the request but what `begin` and `finish` kept.
    void answer(desk& at, store::outcome const& outcome, http::response& response);

    // A refusal that did not come from here (413 while the body came, 408): the same document with
    // this request's id; `close` is set.
    void refuse(desk& at, base::problem problem, std::string_view detail, http::response& response);

    // For the access log and the metrics; valid after the answer, until the next `begin`.
    std::string_view request_id() const;
    std::string_view trace_id() const;  // of `traceparent`, 32 hexadecimal digits or empty
    std::string_view route() const;     // the pattern, "/api/v1/users/{id}", or empty
    api::route const* handler() const;  // the row of routes() that serves it; null: none does
    http::method method() const;
    model::id key_id() const;  // 0: none; set on 403 and 429 too
    std::string_view project() const;
    key_source source() const;
    // The limits of its key admitted it, and it came on its client's own connection, which no proxy
    // shares with others.
    bool let_in() const;
    // Not before then may the next request of this connection be looked at (limit::failures); 0: at
    // once. Never set for a proxy or a gateway, whose connection carries other clients too.
    base::mono_ns heard_again() const;
    std::optional<model::address> const& client()
        const;  // the peer's, or what a trusted proxy said

  private:
    struct state;

    bool is_secure(http::request const& request, peer const& from);
    need seek_in_body(http::framing const& framing, http::response& response);
    bool accept_key(desk& at, auth::verdict const& verdict, base::instant now,
                    http::response& response);
    bool admit(desk& at, base::instant now, http::response& response);
    need serve_gateway(desk& at, http::request const& request, base::instant now,
                       http::response& response);
    bool find_handler(http::request const& request, http::response& response);
    bool check_head(http::request const& request, bool has_body, bool odd_expectation,
                    http::response& response);
    bool takes_body() const;
    need run(desk& at, http::request const& request, base::instant now, http::response& response);
    bool recall(desk& at, http::request const& request, base::instant now,
                http::response& response);
    need handle(desk& at, http::request const& request, base::instant now,
                http::response& response);
    need commit(store::command command);
    void render(desk& at, store::outcome const& outcome, http::response& response);
    need refused_unplanned(trouble what, http::response& response);
    need serve_open(http::request const& request, http::response& response);
    void answer_options(http::response& response);
    need refused(base::problem code, http::response& response);
    need refused(trouble what, http::response& response);
    need dressed(http::response& response);

    std::unique_ptr<state> state_;
};

// A problem document for a request that never became one (the parser refused it), with a fresh id.
// `close` is set. `id` is set to the id, for the log.
void refuse_unparsed(desk& at, peer const& from, base::problem problem, std::string_view detail,
                     http::response& response, std::string& id);

}  // namespace latchkey::api
