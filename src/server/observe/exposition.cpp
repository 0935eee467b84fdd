// Workers count without locks; the sums over them are made here, when somebody reads. Each function
// writes one group of families. Combinations of route, method and status that never occurred have
// no line, which keeps the page short.
#include "server/observe/exposition.hpp"

#include <algorithm>
#include <charconv>
#include <memory>

#include "api/frame/route.hpp"
#include "base/time_units.hpp"
#include "base/version.hpp"
#include "server/observe/exposition_page.hpp"
#include "store/files/space.hpp"

namespace latchkey::server {
namespace {

constexpr double seconds_per_ns = 1e-9;
// Bucket bounds in nanoseconds, from a request served from memory to one that timed out.
constexpr std::uint64_t duration_bounds[] = {
    10'000,      25'000,      50'000,      100'000,       250'000,       500'000,
    1'000'000,   2'500'000,   5'000'000,   10'000'000,    25'000'000,    50'000'000,
    100'000'000, 250'000'000, 500'000'000, 1'000'000'000, 2'500'000'000, 10'000'000'000};

void append_number(std::string& output, auto number) {
    char digits[32];
    output.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

std::string labels_of(std::string_view route, std::string_view method) {
    return label("route", route) + "," + label("method", method);
}

// The sum over all workers.
std::uint64_t sum(process_totals const& totals, counter worker_metrics::* member) {
    std::uint64_t total = 0;
    for (auto const* each : totals.workers) total += (each->*member).read();
    return total;
}

void append_histogram(histogram::reading const& reading, std::string const& labels, page& output) {
    auto const separator = labels.empty() ? "" : ",";
    auto const count = reading.count();
    for (auto const bound : duration_bounds) {
        std::string le;
        append_number(le, static_cast<double>(bound) * seconds_per_ns);
        output.sample(reading.up_to(bound), labels + separator + label("le", le), "_bucket");
    }
    output.sample(count, labels + separator + "le=\"+Inf\"", "_bucket");
    output.sample(static_cast<double>(reading.sum_ns) * seconds_per_ns, labels, "_sum");
    output.sample(count, labels, "_count");
}

void append_requests(process_totals const& totals, page& output) {
    auto const routes = api::routes();
    output.family(
        "latchkey_requests_total", "counter",
        "Answered requests, by route pattern (none: no such route, or not parsed), method and "
        "class of status.");
    for (std::size_t row = 0; row <= routes.size(); ++row)
        for (std::size_t verb = 0; verb < worker_metrics::methods; ++verb)
            for (std::size_t status = 0; status < worker_metrics::status_classes; ++status) {
                auto const method = static_cast<http::method>(verb);
                std::uint64_t total = 0;
                for (auto const* each : totals.workers)
                    total += each->requests(row, method, status);
                if (total == 0) continue;
                auto const pattern = row < routes.size() ? routes[row].pattern : "none";
                output.sample(total, labels_of(pattern, http::name_of(method)) + ",status=\"" +
                                         std::to_string(status + 1) + "xx\"");
            }
}

void append_protocols(process_totals const& totals, page& output) {
    output.family("latchkey_requests_by_protocol_total", "counter",
                  "Answered requests, by version of HTTP.");
    for (std::size_t i = 0; i < static_cast<std::size_t>(session::protocol::count_); ++i) {
        std::uint64_t total = 0;
        for (auto const* worker : totals.workers) total += worker->protocols[i].read();
        auto const name = session::name_of(static_cast<session::protocol>(i));
        output.sample(total, label("protocol", name));
    }
}

void append_durations(process_totals const& totals, page& output) {
    auto const routes = api::routes();
    output.family(
        "latchkey_request_duration_seconds", "histogram",
        "Time from the end of a request's header section to its response, by route and method "
        "(none: no handler).");
    auto const read = std::make_unique<histogram::reading>();
    for (std::size_t row = 0; row <= routes.size(); ++row) {
        *read = {};
        for (auto const* each : totals.workers) each->durations(row).add_to(*read);
        if (read->count() == 0) continue;
        auto const labels = row < routes.size()
                                ? labels_of(routes[row].pattern, http::name_of(routes[row].method))
                                : labels_of("none", "none");
        append_histogram(*read, labels, output);
    }
}

void append_refusals(process_totals const& totals, page& output) {
    output.family(
        "latchkey_problems_total", "counter",
        "Problem responses, by code: key_invalid and the like are failed authentications, "
        "rate_limited and overloaded are refusals.");
    for (auto const& each : base::problems) {
        if (each.code == base::problem::none) continue;
        std::uint64_t total = 0;
        for (auto const* worker : totals.workers)
            total += worker->problems[static_cast<std::size_t>(each.code)].read();
        output.sample(total, label("code", each.name));
    }
    output.family("latchkey_credentials_total", "counter",
                  "Requests with a key, by where it was; query and body are discouraged.");
    for (std::size_t i = 1; i < worker_metrics::sources; ++i) {
        std::uint64_t total = 0;
        for (auto const* worker : totals.workers) total += worker->credentials[i].read();
        output.sample(total, label("source", api::name_of(static_cast<api::key_source>(i))));
    }
    output
        .family("latchkey_key_lookups_total", "counter",
                "Key lookups: in the worker's cache (hit), in the store (miss), in neither "
                "(unknown), or "
                "not in the form of a key (malformed).")
        .sample(sum(totals, &worker_metrics::cache_hits), label("result", "hit"))
        .sample(sum(totals, &worker_metrics::cache_misses), label("result", "miss"))
        .sample(sum(totals, &worker_metrics::cache_unknown), label("result", "unknown"))
        .sample(sum(totals, &worker_metrics::cache_malformed), label("result", "malformed"));
    output
        .family("latchkey_token_lookups_total", "counter",
                "JWTs: known to the worker (hit), verified, or refused by a verification.")
        .sample(sum(totals, &worker_metrics::token_hits), label("result", "hit"))
        .sample(sum(totals, &worker_metrics::tokens_verified), label("result", "verified"))
        .sample(sum(totals, &worker_metrics::tokens_refused), label("result", "refused"));
    output
        .family("latchkey_keys_dropped_total", "counter",
                "Keys that workers dropped from their cache because they had changed.")
        .sample(sum(totals, &worker_metrics::cache_dropped));
}

void append_connections(process_totals const& totals, page& output) {
    output.family("latchkey_connections", "gauge", "Open connections.").sample(totals.connections);
    output.family("latchkey_connections_accepted_total", "counter", "Accepted connections.")
        .sample(sum(totals, &worker_metrics::accepted));
    output
        .family("latchkey_connections_refused_total", "counter",
                "Connections that were closed at once because there were too many.")
        .sample(sum(totals, &worker_metrics::turned_down));
    output
        .family("latchkey_connections_passed_on_total", "counter",
                "Connections that a worker with more than its share passed to another one.")
        .sample(sum(totals, &worker_metrics::passed_on));
    output
        .family("latchkey_http2_connections_total", "counter",
                "Connections whose client speaks HTTP/2.")
        .sample(sum(totals, &worker_metrics::http2_connections));
    output.family("latchkey_tls_handshakes_total", "counter", "TLS handshakes, by result.")
        .sample(sum(totals, &worker_metrics::handshakes_full), label("result", "full"))
        .sample(sum(totals, &worker_metrics::handshakes_resumed), label("result", "resumed"))
        .sample(sum(totals, &worker_metrics::handshakes_failed), label("result", "failed"));
    output
        .family("latchkey_requests_in_flight", "gauge",
                "Authenticated requests that wait for their body or their commit.")
        .sample(sum(totals, &worker_metrics::in_flight));
    output
        .family("latchkey_anonymous_requests", "gauge",
                "Requests that wait for a body that may contain their key.")
        .sample(sum(totals, &worker_metrics::anonymous));
    output.family("latchkey_event_streams", "gauge", "Responses of events that go on.")
        .sample(sum(totals, &worker_metrics::event_streams));
    output.family("latchkey_received_bytes_total", "counter", "Bytes of requests, without TLS.")
        .sample(sum(totals, &worker_metrics::bytes_in));
    output.family("latchkey_sent_bytes_total", "counter", "Bytes of responses, without TLS.")
        .sample(sum(totals, &worker_metrics::bytes_out));
    output
        .family("latchkey_held_bytes", "gauge",
                "Memory of connections: unread requests, bodies, header tables, unsent responses.")
        .sample(sum(totals, &worker_metrics::held_bytes));
}

void append_store(process_totals const& totals, page& output) {
    output.family("latchkey_commits_total", "counter", "Committed transactions.")
        .sample(totals.commits.commits);
    output.family("latchkey_commands_total", "counter", "Write commands that were executed.")
        .sample(totals.commits.commands);
    output.family("latchkey_commands_refused_total", "counter", "Write commands that were refused.")
        .sample(totals.commits.refused);
    output.family("latchkey_commit_commands", "histogram", "Write commands per commit.");
    std::uint64_t groups = 0;
    for (std::size_t i = 0; i < totals.commits.groups.size(); ++i) {
        groups += totals.commits.groups[i];
        output.sample(groups, label("le", std::to_string(std::size_t{1} << i)), "_bucket");
    }
    output.sample(groups, "le=\"+Inf\"", "_bucket");
    output.sample(totals.commits.commands, {}, "_sum").sample(groups, {}, "_count");
    output
        .family("latchkey_store_damaged_reads_total", "counter",
                "Reads of damaged records and pages of the store; the reader got an error "
                "(latchkey check "
                "tells more).")
        .sample(totals.store.damaged_reads());
    auto const space = store::space_of(totals.store);
    output.family("latchkey_store_disk_bytes", "gauge", "Disk space of the store.")
        .sample(space.disk_bytes);
    output
        .family("latchkey_store_used_bytes", "gauge",
                "Size of the store up to its last page; freed pages are reused.")
        .sample(space.used_bytes);
    output.family("latchkey_store_map_bytes", "gauge", "Maximum size of the store (store.map_mib).")
        .sample(space.map_bytes);
    output
        .family("latchkey_store_changes_bytes", "gauge",
                "What changes take of the store (changes.max_mib).")
        .sample(space.changes_bytes);
    output
        .family("latchkey_store_changes_trimmed_total", "counter",
                "Changes removed before their time, for room.")
        .sample(space.changes_trimmed);
    output.family("latchkey_clock_ahead_seconds", "gauge", "The machine's clock minus store time.")
        .sample(static_cast<double>(totals.store.offset_of_clock().ahead) / 1000);
}

void append_cluster(cluster::node_report const& node, page& output) {
    output
        .family("latchkey_cluster_position", "gauge", "Position of this node in the cluster's log.")
        .sample(node.applied);
    output
        .family("latchkey_cluster_lag", "gauge",
                "Rows of the cluster's log that this node has heard of and not applied.")
        .sample(node.head - std::min(node.head, node.applied));
    output
        .family("latchkey_cluster_engine_connected", "gauge",
                "Whether the cluster's PostgreSQL is reached.")
        .sample(std::uint64_t{node.connected});
    auto const rest = std::max<cluster::boot_ns>(node.lease_end - cluster::read_boot(), 0);
    output
        .family("latchkey_cluster_lease_seconds", "gauge",
                "How long this node answers requests without hearing from PostgreSQL.")
        .sample(static_cast<double>(rest / base::millisecond) / 1000);
    output.family("latchkey_cluster_nodes", "gauge", "Nodes of the cluster that may hold a lease.")
        .sample(static_cast<std::uint64_t>(
            std::ranges::count_if(node.nodes, [](auto const& each) { return each.alive; })));
    output
        .family("latchkey_cluster_appends_total", "counter",
                "Appends to the cluster's log, also those that lost or have an unknown end.")
        .sample(node.appends);
    output
        .family("latchkey_cluster_appends_lost_total", "counter",
                "Rows whose position another node had taken first.")
        .sample(node.lost);
    output
        .family("latchkey_cluster_appends_unknown_total", "counter",
                "Rows whose fate had to be asked for, since the answer was lost.")
        .sample(node.unknown);
}

void append_tokens(process_totals const& totals, page& output) {
    auto const& node = *totals.node;
    output
        .family("latchkey_cluster_token_asks_total", "counter",
                "Questions to PostgreSQL for tokens of rate limits.")
        .sample(node.tokens.asks);
    output
        .family("latchkey_cluster_token_asks_lost_total", "counter",
                "Questions for tokens that were not answered in time.")
        .sample(node.tokens.losses);
    output
        .family("latchkey_cluster_tokens_granted_total", "counter",
                "Tokens of rate limits that this node was granted.")
        .sample(node.tokens.granted);
    output
        .family("latchkey_cluster_tokens_forfeited_total", "counter",
                "Tokens of rate limits that this node did not spend in time.")
        .sample(node.tokens.forfeited);
    output
        .family("latchkey_cluster_share_requests_total", "counter",
                "Requests admitted by this node's share of a limit, without PostgreSQL.")
        .sample(node.share_charges);
    auto const waits = std::make_unique<histogram::reading>();
    for (auto const* each : totals.workers) each->token_waits.add_to(*waits);
    output.family("latchkey_cluster_token_wait_seconds", "histogram",
                  "How long requests waited for tokens of their key; others did not wait.");
    append_histogram(*waits, {}, output);
}

void append_deliveries(delivery::delivery_metrics const& deliveries, page& output) {
    auto const read = [](auto const& value) { return value.load(std::memory_order_relaxed); };
    output
        .family("latchkey_webhook_deliveries_total", "counter",
                "Changes that were delivered to webhooks, and those that were given up.")
        .sample(read(deliveries.delivered), label("outcome", "delivered"))
        .sample(read(deliveries.failed), label("outcome", "failed"));
    output
        .family("latchkey_webhook_attempts_failed_total", "counter",
                "Attempts to reach a webhook that failed.")
        .sample(read(deliveries.attempts_failed));
    output
        .family("latchkey_webhook_attempts_in_flight", "gauge",
                "Requests to webhooks that are not answered yet.")
        .sample(read(deliveries.in_flight));
    output
        .family("latchkey_webhook_deliveries_pending", "gauge",
                "Deliveries that wait for another attempt.")
        .sample(read(deliveries.pending));
    output
        .family("latchkey_webhook_lag", "gauge",
                "Changes beyond the position of the enabled webhook that is furthest behind.")
        .sample(read(deliveries.lag));
}

void append_spans(span_exporter::counts const& spans, page& output) {
    output
        .family("latchkey_trace_spans_exported_total", "counter",
                "Spans that the endpoint of tracing has taken.")
        .sample(spans.exported);
    output
        .family("latchkey_trace_spans_dropped_total", "counter",
                "Spans that were dropped: a worker's ring was full, or the helper had too many, "
                "died, or the endpoint did not take them.")
        .sample(spans.dropped_by_rings, label("where", "ring"))
        .sample(spans.dropped_by_helper, label("where", "helper"));
}

void append_workings(process_totals const& totals, page& output) {
    output.family("latchkey_turns_total", "counter", "Event loop turns of the workers.")
        .sample(sum(totals, &worker_metrics::turns));
    output.family("latchkey_completions_total", "counter", "io_uring completions.")
        .sample(sum(totals, &worker_metrics::completions));
    output
        .family("latchkey_requests_foreseen_total", "counter",
                "Requests whose record was prefetched.")
        .sample(sum(totals, &worker_metrics::prefetch_hints));
    output
        .family("latchkey_ring_refusals_total", "counter",
                "Calls of io_uring_enter that the kernel refused for lack of memory.")
        .sample(sum(totals, &worker_metrics::ring_refusals));
    output.family("latchkey_receive_buffers_free", "gauge", "Free receive buffers.")
        .sample(sum(totals, &worker_metrics::free_buffers));
    output
        .family("latchkey_receives_starved_total", "counter",
                "Times that a connection had to wait for a receive buffer.")
        .sample(sum(totals, &worker_metrics::starved));
    output
        .family("latchkey_log_entries_dropped_total", "counter",
                "Access log entries that were dropped.")
        .sample(totals.log_lines_dropped);
    output.family("latchkey_workers", "gauge", "Worker threads.").sample(totals.workers.size());
    output.family("latchkey_build_info", "gauge", "Always 1; the label has the version.")
        .sample(1, label("version", LATCHKEY_VERSION));
    output.family("latchkey_uptime_seconds", "gauge", "Time since the start, by a monotonic clock.")
        .sample(static_cast<double>(totals.now.mono - totals.started.mono) * seconds_per_ns);
}

}  // namespace

void append_exposition(process_totals const& totals, std::string& output) {
    page families(output);
    append_requests(totals, families);
    append_statuses(totals, families);
    append_protocols(totals, families);
    append_durations(totals, families);
    append_refusals(totals, families);
    append_connections(totals, families);
    append_store(totals, families);
    if (totals.node) append_cluster(*totals.node, families), append_tokens(totals, families);
    if (totals.deliveries != nullptr) append_deliveries(*totals.deliveries, families);
    if (totals.spans) append_spans(*totals.spans, families);
    append_workings(totals, families);
    append_operations(totals, families);
    append_process(totals, families);
}

}  // namespace latchkey::server
