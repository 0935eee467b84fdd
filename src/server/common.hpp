// What all workers of a service share; outlives them. Everything is immutable or thread-safe.
#pragma once

#include <atomic>
#include <memory>

#include "api/exchange/exchange.hpp"
#include "api/frame/event_stream.hpp"
#include "api/frame/service_report.hpp"
#include "auth/browser_session.hpp"
#include "cluster/node.hpp"
#include "domain/writer.hpp"
#include "server/net/address_counts.hpp"
#include "server/observe/access_log.hpp"
#include "server/observe/process_stats.hpp"
#include "server/observe/service_reporter.hpp"
#include "wire/tls/signing.hpp"

namespace latchkey::server {

struct common {
    store::environment& store;
    domain::writer& writer;
    limit::buckets& buckets;
    limit::auth_failure_limiter& failures;
    auth::mac const& cursors;
    address_counts& open_by_address;
    log_thread& log;
    tls::signing_thread& signer;
    api::in_progress running;  // requests under an Idempotency-Key
    api::stream_slots streams;
    std::atomic<bool> draining{false};  // responses carry `Connection: close`
    // Connections of each worker that the limit of open files leaves room for.
    std::uint64_t connections_max = UINT64_MAX;
    cluster::node const* node = nullptr;  // null: this process is no node of a cluster
    cluster::quota* quota = nullptr;      // of a node, in the place of the buckets
    // Made by `begin_console`.
    std::unique_ptr<auth::session_cipher> sessions;
    std::unique_ptr<service_reporter> reporter;
    api::report_source report;

    // Leaves descriptors for clients of the management listener, a reload and the log, whatever
    // `connections` of each worker were configured. After the listeners are open.
    void keep_descriptors(process_stats const& process, std::uint64_t connections,
                          unsigned workers);
    // Prepares sessions of browsers and GET /service; to be called after `node` is set and before
    // workers start.
    void begin_console(base::wall_ms started_at, std::string node_name);
};

}  // namespace latchkey::server
