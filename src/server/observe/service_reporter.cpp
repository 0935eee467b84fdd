#include "server/observe/service_reporter.hpp"

#include <algorithm>
#include <memory>

#include "api/frame/route.hpp"

namespace latchkey::server {
namespace {

// Bounds in nanoseconds, two or three per power of ten.
constexpr std::uint64_t reported_bounds[] = {
    10'000,      20'000,      50'000,      100'000,       200'000,       500'000,
    1'000'000,   2'000'000,   5'000'000,   10'000'000,    20'000'000,    50'000'000,
    100'000'000, 200'000'000, 500'000'000, 1'000'000'000, 2'000'000'000, 10'000'000'000};

void add_requests(worker_metrics const& worker, api::service_report& report) {
    for (std::size_t row = 0; row <= api::routes().size(); ++row)
        for (std::size_t verb = 0; verb < worker_metrics::methods; ++verb)
            for (std::size_t i = 0; i < report.requests.size(); ++i)
                report.requests[i] += worker.requests(row, static_cast<http::method>(verb), i + 1);
}

void add_durations(std::vector<worker_metrics const*> const& workers, api::service_report& report) {
    auto const sum = std::make_unique<histogram::reading>();
    for (auto const* worker : workers)
        for (std::size_t row = 0; row <= api::routes().size(); ++row)
            worker->durations(row).add_to(*sum);
    report.duration_count = sum->count();
    report.duration_sum_ns = sum->sum_ns;
    for (auto const bound : reported_bounds)
        report.durations.push_back({.bound_ns = bound, .count = sum->up_to(bound)});
}

void add_nodes(cluster::node_report const& node, std::string_view own_name,
               api::service_report& report) {
    for (auto const& each : node.nodes) {
        if (each.departed) continue;
        bool const is_self = each.name == own_name;
        auto const position = is_self ? node.applied : each.position;
        report.nodes.push_back({.name = each.name,
                                .is_self = is_self,
                                .is_alive = each.alive,
                                .lag_rows = node.head > position ? node.head - position : 0,
                                .version = each.version});
    }
}

}  // namespace

void service_reporter::enter(worker_metrics const& worker) {
    std::lock_guard const lock(mutex_);
    workers_.push_back(&worker);
}

api::service_report service_reporter::report() const {
    std::vector<worker_metrics const*> workers;
    {
        std::lock_guard const lock(mutex_);
        workers = workers_;
    }
    api::service_report report{.started_at = started_at_};
    auto const problems_of = [](worker_metrics const& worker, base::problem problem) {
        return worker.problems[static_cast<std::size_t>(problem)].read();
    };
    for (auto const* worker : workers) {
        add_requests(*worker, report);
        report.limited += problems_of(*worker, base::problem::rate_limited);
        report.failed_authentications +=
            problems_of(*worker, base::problem::key_invalid) +
            problems_of(*worker, base::problem::token_invalid) +
            problems_of(*worker, base::problem::too_many_auth_failures);
        report.connections += worker->connections.read();
        report.streams += worker->event_streams.read();
    }
    add_durations(workers, report);
    if (node_ != nullptr) add_nodes(node_->report(), node_name_, report);
    return report;
}

}  // namespace latchkey::server
