// `/metrics` in the Prometheus text format (version 0.0.4). The names of metrics and labels are a
// public interface: dashboards and alerts use them. Main thread; values may be a little late and
// are not a consistent snapshot.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "api/frame/route.hpp"
#include "base/clock.hpp"
#include "cluster/node.hpp"
#include "delivery/delivery_metrics.hpp"
#include "domain/writer.hpp"
#include "server/observe/access_log.hpp"
#include "server/observe/metrics.hpp"
#include "server/observe/operation_times.hpp"
#include "server/observe/process_stats.hpp"
#include "server/observe/span_exporter.hpp"
#include "store/environment.hpp"

namespace latchkey::server {

// The sources of the page.
struct process_totals {
    std::vector<worker_metrics const*> workers;
    std::size_t connections = 0;  // open now
    domain::writer::counters commits;
    store::environment& store;
    std::uint64_t log_lines_dropped = 0;
    base::instant started, now;
    std::optional<cluster::node_report> node;                // nullopt: no node of a cluster
    delivery::delivery_metrics const* deliveries = nullptr;  // null: webhooks are not delivered
    base::wall_ms certificate_expires = 0;                   // 0: there is none
    operation_time reload;
    std::optional<operation_time> backup;             // nullopt: none was made
    std::optional<process_stats::reading> process{};  // nullopt: the system does not say
    std::optional<span_exporter::counts> spans;       // nullopt: no spans are exported
};

inline constexpr std::string_view exposition_type = "text/plain; version=0.0.4; charset=utf-8";
void append_exposition(process_totals const& totals, std::string& output);

// Parts of it.
class page;
void append_statuses(process_totals const& totals, page& output);
void append_operations(process_totals const& totals, page& output);
void append_process(process_totals const& totals, page& output);

}  // namespace latchkey::server
