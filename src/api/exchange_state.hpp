// The state of an exchange between its steps. Private to exchange*.cpp.
#pragma once

#include "api/charge.hpp"
#include "api/checks/credential.hpp"
#include "api/event_stream.hpp"
#include "api/request_id.hpp"
#include "api/request_services.hpp"
#include "api/route.hpp"

namespace latchkey::api {

// What a request waits for, and what comes after it.
enum class wait_kind : std::uint8_t {
    none,
    position,   // of the store, before its handler runs
    admission,  // tokens of its key, before the checks that follow
    action,     // tokens of the key that its handler charges
    turn        // the next one, in which its handler goes on
};

// Of the current request. Reused; strings keep their capacity.
struct exchange_state {
    api::settings const* settings = nullptr;
    auth::usage_counter* uses = nullptr;

    // ---- the request
    api::request_id request_id;
    api::trace_id trace_id;
    http::method method = http::method::get;
    bool tls = false;
    bool has_body = false;
    bool may_be_empty = false;   // of a body that has begun without a length
    bool is_coded = false;       // Content-Encoding
    bool is_unreadable = false;  // of another media type or coded: an error unless it is empty
    bool body_complete = false;  // it was read before the key was known
    bool unknown_expectation = false;
    bool masks_limits = false;  // ?limit_status=403
    match matched;              // `variable` is valid while the head is
    std::optional<model::id> path_id;
    std::string event_source;    // of the path; empty: it names none
    std::string canonical_path;  // of a path without the prefix
    api::query query;

    // ---- the client
    std::optional<model::address> client;
    bool is_shared = false;          // a proxy or a gateway: its connection carries other clients
    model::address failure_address;  // failed authentications count against it
    std::uint32_t retry_after = 0;   // seconds for which the client is refused for its failures
    base::mono_ns resume_reading_at = 0;

    // ---- its key
    bool needs_key = false;
    key_source source = key_source::none;
    bool credential_in_body = false;
    std::string decoded_credential;  // of one that was percent-encoded
    std::optional<auth::browser_session> session;
    std::optional<auth::principal> principal;
    base::wall_ms authenticated_at = 0;
    bool was_charged = false;  // the key's limits were asked, whatever they said
    limit::decision quota;
    token_wait tokens;

    wait_kind wait = wait_kind::none;

    // ---- its read in steps
    std::unique_ptr<steps> reading;

    // ---- its stream, from its handler to the session
    bool wants_events = false;
    std::unique_ptr<event_stream> events;

    // ---- its write
    store::command command;
    std::optional<store::idempotency> idempotency;
    in_progress::claim claim;  // with `idempotency`, until the response is made
    write const* writing = nullptr;
    std::optional<auth::fresh_key> fresh_key;  // shown once, by the response

    void start(request_services& services, http::request const& request, peer const& peer);
    bool is_external() const;  // write::external of the route
    // The key came by a way on which others may have read it (api.md §16): one that was looked up,
    // or one in a head that is refused for that.
    void note_exposed(auth::verdict const& verdict);
    void note_exposed(http::request const& request);
    bool may_be_https(http::request const& request, peer const& peer) const;
};

}  // namespace latchkey::api
