// What an exchange keeps between its steps. Private to gate.cpp, dispatch.cpp and answer.cpp.
#pragma once

#include "api/exchange.hpp"
#include "api/request_id.hpp"
#include "api/route.hpp"

namespace latchkey::api {

// What is known of the request in hand. Reused; strings keep their capacity.
struct exchange::state {
    settings const* rules = nullptr;
    auth::uses* uses = nullptr;
    class request_id id;
    class trace_id trace;
    std::optional<model::address> client;
    match where;  // its `last` is only looked at while the head is there
    std::optional<model::id> path_id;
    std::string event_source;  // where the path names one
    http::method method = http::method::get;
    bool tls = false;
    bool credential_in_body = false;
    bool odd_expectation = false;  // to be refused once the credential in the body was looked at
    bool by_key = false;           // a key decides, or would have decided
    key_source source = key_source::none;
    std::optional<auth::principal> who;
    base::wall_ms known_at = 0;  // when the key was found to be `who`'s
    limit::decision quota;
    bool admitted = false;            // the limits were asked, whatever they said
    std::uint32_t failures_wait = 0;  // seconds that the client must not try further keys
    base::mono_ns heard_again = 0;    // see exchange::heard_again
    bool for_others = false;          // the peer asks for clients of its own, on one connection
    std::string decoded;              // a credential that was percent-encoded
    std::string canonical;            // the path, where it came without the prefix
    api::query query;
    store::command command;
    std::optional<store::idempotency> once;
    in_progress::claim claim;  // with `once`, until the answer is made
    write const* writing = nullptr;
    std::optional<auth::fresh_key> made;  // shown once, by the answer
    bool masks_limits = false;

    bool foreign() const;  // write::foreign of the route
    void start(desk& at, http::request const& request, peer const& from);
};

}  // namespace latchkey::api
