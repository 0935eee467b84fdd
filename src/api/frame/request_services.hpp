// The parts of a worker that its requests use, and the peer that sent a request.
#pragma once

#include <cstdint>
#include <optional>

#include "api/frame/in_progress.hpp"
#include "api/frame/service_report.hpp"
#include "api/frame/settings.hpp"
#include "auth/browser_session.hpp"
#include "auth/cache.hpp"
#include "auth/mac.hpp"
#include "auth/usage_counter.hpp"
#include "domain/snapshot.hpp"
#include "limit/auth_failure_limiter.hpp"
#include "limit/leases.hpp"
#include "model/cidr.hpp"

namespace latchkey::auth {

class bearer_cache;

}

namespace latchkey::cluster {

class quota_purse;

}

namespace latchkey::api {

class event_streams;

// The other end of the connection. `client` is nullopt on a Unix socket and where a PROXY header
// gives no address.
struct peer {
    bool tls = false;
    bool local = false;    // loopback or Unix socket
    bool relayed = false;  // a PROXY header named the client: this is the client of a trusted proxy
    bool is_proxy = false;  // a PROXY header said LOCAL: the proxy itself, such as a health check
    std::optional<model::address> client;
};

// References only; all outlive the worker's connections. Used on the worker's thread.
struct request_services {
    api::settings const& settings;
    domain::snapshot& snapshot;
    auth::cache& keys;
    limit::leases& buckets;  // the worker's access to the token buckets
    limit::auth_failure_limiter& failures;
    auth::mac const& cursors;
    std::uint64_t& random;  // state of a generator for request ids, seeded by the OS; not secret
    in_progress& running;
    auth::usage_counter* uses = nullptr;  // null: uses of keys are not counted
    bool is_node = false;                 // of a cluster: requests may name positions
    // A node of a cluster without a lease: what it knows of keys may be old. Set for each turn.
    bool lease_over = false;
    cluster::quota_purse* quota = nullptr;           // of a node, in the place of `buckets`
    event_streams* streams = nullptr;                // of this worker; null: it has none
    auth::session_cipher const* sessions = nullptr;  // null: browsers get none
    report_source const* report = nullptr;           // null: there is none
    auth::bearer_cache* tokens = nullptr;            // null: no JWT is accepted
    std::int64_t boot = 0;  // of a node: the turn's time of CLOCK_BOOTTIME, in nanoseconds
};

}  // namespace latchkey::api
