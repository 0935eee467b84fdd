#include "server/exposition.hpp"

#include <algorithm>
#include <charconv>
#include <memory>

#include "api/route.hpp"
#include "store/space.hpp"

namespace latchkey::server {
namespace {

constexpr double seconds_per_ns = 1e-9;
// In nanoseconds; what a dashboard shows well, from a request in memory to one that timed out.
constexpr std::uint64_t duration_bounds[] = {
    10'000,      25'000,      50'000,      100'000,       250'000,       500'000,
    1'000'000,   2'500'000,   5'000'000,   10'000'000,    25'000'000,    50'000'000,
    100'000'000, 250'000'000, 500'000'000, 1'000'000'000, 2'500'000'000, 10'000'000'000};

void append_number(std::string& to, auto number) {
    char digits[32];
    to.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// Writes families: `# HELP`, `# TYPE`, then their samples.
class page {
  public:
    explicit page(std::string& to) : to_(to) {}

    page& family(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        to_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
        to_.append(name).append(" ").append(type).append("\n");
        return *this;
    }
    // `labels` as they stand between the braces; their values are text of our own.
    page& sample(auto value, std::string_view labels = {}, std::string_view suffix = {}) {
        to_.append(name_).append(suffix);
        if (!labels.empty()) to_.append("{").append(labels).append("}");
        to_.append(" ");
        append_number(to_, value);
        to_.append("\n");
        return *this;
    }

  private:
    std::string& to_;
    std::string_view name_;
};

std::string label(std::string_view name, std::string_view value) {
    return std::string(name) + "=\"" + std::string(value) + "\"";
}

std::string labels_of(std::string_view route, std::string_view method) {
    return label("route", route) + "," + label("method", method);
}

// Over all workers.
std::uint64_t sum(measured const& of, counter worker_metrics::* which) {
    std::uint64_t all = 0;
    for (auto const* each : of.workers) all += (each->*which).read();
    return all;
}

void append_requests(measured const& of, page& to) {
    auto const routes = api::routes();
    to.family("latchkey_requests_total", "counter",
              "Requests that were answered, by the pattern of their route (none: no such route, or "
              "not parsed), method and class of status.");
    for (std::size_t row = 0; row <= routes.size(); ++row)
        for (std::size_t verb = 0; verb < worker_metrics::methods; ++verb)
            for (std::size_t status = 0; status < worker_metrics::status_classes; ++status) {
                auto const method = static_cast<http::method>(verb);
                std::uint64_t all = 0;
                for (auto const* each : of.workers)
                    all += each->requests(row, method, status).read();
                if (all == 0) continue;
                auto const pattern = row < routes.size() ? routes[row].pattern : "none";
                to.sample(all, labels_of(pattern, http::name_of(method)) + ",status=\"" +
                                   std::to_string(status + 1) + "xx\"");
            }
}

void append_durations(measured const& of, page& to) {
    auto const routes = api::routes();
    to.family("latchkey_request_duration_seconds", "histogram",
              "From the end of a request's head to its answer, by route and the method that it has "
              "there (none: no handler).");
    auto const read = std::make_unique<histogram::reading>();
    for (std::size_t row = 0; row <= routes.size(); ++row) {
        *read = {};
        for (auto const* each : of.workers) each->durations(row).add_to(*read);
        auto const count = read->count();
        if (count == 0) continue;
        auto const labels = row < routes.size()
                                ? labels_of(routes[row].pattern, http::name_of(routes[row].method))
                                : labels_of("none", "none");
        for (auto const bound : duration_bounds) {
            std::string le;
            append_number(le, static_cast<double>(bound) * seconds_per_ns);
            to.sample(read->up_to(bound), labels + "," + label("le", le), "_bucket");
        }
        to.sample(count, labels + ",le=\"+Inf\"", "_bucket");
        to.sample(static_cast<double>(read->sum_ns) * seconds_per_ns, labels, "_sum");
        to.sample(count, labels, "_count");
    }
}

void append_refusals(measured const& of, page& to) {
    to.family("latchkey_problems_total", "counter",
              "Answers that were a problem, by its code: key_invalid and the like are failed "
              "authentications, rate_limited and overloaded speak for themselves.");
    for (auto const& each : base::problems) {
        if (each.code == base::problem::none) continue;
        std::uint64_t all = 0;
        for (auto const* worker : of.workers)
            all += worker->problems[static_cast<std::size_t>(each.code)].read();
        to.sample(all, label("code", each.name));
    }
    to.family("latchkey_credentials_total", "counter",
              "Requests with a key, by the way it came; query and body are ways to leave.");
    for (std::size_t i = 1; i < worker_metrics::sources; ++i) {
        std::uint64_t all = 0;
        for (auto const* worker : of.workers) all += worker->credentials[i].read();
        to.sample(all, label("source", api::name_of(static_cast<api::key_source>(i))));
    }
    to.family("latchkey_key_lookups_total", "counter",
              "Keys that were looked up: known to the worker (hit), found in the store (miss), "
              "in neither (unknown), or of no key's form (malformed).")
        .sample(sum(of, &worker_metrics::cache_hits), label("result", "hit"))
        .sample(sum(of, &worker_metrics::cache_misses), label("result", "miss"))
        .sample(sum(of, &worker_metrics::cache_unknown), label("result", "unknown"))
        .sample(sum(of, &worker_metrics::cache_malformed), label("result", "malformed"));
    to.family("latchkey_keys_dropped_total", "counter",
              "Keys that workers forgot because they had changed.")
        .sample(sum(of, &worker_metrics::cache_dropped));
}

void append_connections(measured const& of, page& to) {
    to.family("latchkey_connections", "gauge", "Open connections.").sample(of.connections);
    to.family("latchkey_connections_accepted_total", "counter", "Connections that were taken.")
        .sample(sum(of, &worker_metrics::accepted));
    to.family("latchkey_connections_refused_total", "counter",
              "Connections that were closed at once, since there were too many.")
        .sample(sum(of, &worker_metrics::turned_down));
    to.family("latchkey_connections_passed_on_total", "counter",
              "Connections that a worker with more than its share gave to another one.")
        .sample(sum(of, &worker_metrics::passed_on));
    to.family("latchkey_tls_handshakes_total", "counter", "TLS handshakes, by how they ended.")
        .sample(sum(of, &worker_metrics::handshakes_full), label("result", "full"))
        .sample(sum(of, &worker_metrics::handshakes_resumed), label("result", "resumed"))
        .sample(sum(of, &worker_metrics::handshakes_failed), label("result", "failed"));
    to.family("latchkey_requests_in_flight", "gauge",
              "Requests that wait for their body or their commit.")
        .sample(sum(of, &worker_metrics::in_flight));
    to.family("latchkey_received_bytes_total", "counter", "Bytes of requests, without TLS.")
        .sample(sum(of, &worker_metrics::bytes_in));
    to.family("latchkey_sent_bytes_total", "counter", "Bytes of answers, without TLS.")
        .sample(sum(of, &worker_metrics::bytes_out));
    to.family("latchkey_held_bytes", "gauge",
              "What connections keep in memory: requests not read yet, bodies, unsent answers.")
        .sample(sum(of, &worker_metrics::held_bytes));
}

void append_store(measured const& of, page& to) {
    to.family("latchkey_commits_total", "counter", "Transactions that reached the disk.")
        .sample(of.commits.commits);
    to.family("latchkey_commands_total", "counter", "Writes that were decided.")
        .sample(of.commits.commands);
    to.family("latchkey_commands_refused_total", "counter", "Those of them that were refused.")
        .sample(of.commits.refused);
    to.family("latchkey_commit_commands", "histogram", "Writes that went with one commit.");
    std::uint64_t groups = 0;
    for (std::size_t i = 0; i < of.commits.groups.size(); ++i) {
        groups += of.commits.groups[i];
        to.sample(groups, label("le", std::to_string(std::size_t{1} << i)), "_bucket");
    }
    to.sample(groups, "le=\"+Inf\"", "_bucket");
    to.sample(of.commits.commands, {}, "_sum").sample(groups, {}, "_count");
    auto const space = store::space_of(of.store);
    to.family("latchkey_store_disk_bytes", "gauge", "What the store takes on the disk.")
        .sample(space.disk_bytes);
    to.family("latchkey_store_used_bytes", "gauge",
              "Up to the last page of the store; pages that were freed are used again.")
        .sample(space.used_bytes);
    to.family("latchkey_store_map_bytes", "gauge", "What the store can grow to (store.map_mib).")
        .sample(space.map_bytes);
}

void append_workings(measured const& of, page& to) {
    to.family("latchkey_turns_total", "counter", "Turns of the workers' rings.")
        .sample(sum(of, &worker_metrics::turns));
    to.family("latchkey_completions_total", "counter", "Completions that the kernel delivered.")
        .sample(sum(of, &worker_metrics::completions));
    to.family("latchkey_requests_foreseen_total", "counter",
              "Requests whose record was looked for before their turn.")
        .sample(sum(of, &worker_metrics::foreseen));
    to.family("latchkey_ring_refusals_total", "counter",
              "Enters that the kernel turned down for want of memory.")
        .sample(sum(of, &worker_metrics::ring_refusals));
    to.family("latchkey_receive_buffers_free", "gauge", "Receive buffers that wait for data.")
        .sample(sum(of, &worker_metrics::free_buffers));
    to.family("latchkey_receives_starved_total", "counter",
              "Times that a connection had to wait for a receive buffer.")
        .sample(sum(of, &worker_metrics::starved));
    to.family("latchkey_log_entries_dropped_total", "counter",
              "Entries of the access log that were not written.")
        .sample(of.log_lines_dropped);
    to.family("latchkey_workers", "gauge", "Worker threads.").sample(of.workers.size());
    to.family("latchkey_build_info", "gauge", "1, with the version.")
        .sample(1, label("version", LATCHKEY_VERSION));
    to.family("latchkey_uptime_seconds", "gauge", "Since the start, by a clock that never jumps.")
        .sample(static_cast<double>(of.now.mono - of.started.mono) * seconds_per_ns);
    to.family("process_start_time_seconds", "gauge", "When the process started, as Unix time.")
        .sample(static_cast<double>(of.started.wall) / 1000);
}

}  // namespace

void append_exposition(measured const& of, std::string& to) {
    page all(to);
    append_requests(of, all);
    append_durations(of, all);
    append_refusals(of, all);
    append_connections(of, all);
    append_store(of, all);
    append_workings(of, all);
}

}  // namespace latchkey::server
