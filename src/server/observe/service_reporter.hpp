// The sums over all workers for GET /service (docs/api.md §18). A worker enters its counters when
// it starts, and they stay. Any thread; takes a lock.
#pragma once

#include <mutex>
#include <vector>

#include "api/frame/service_report.hpp"
#include "base/clock.hpp"
#include "cluster/node.hpp"
#include "server/observe/metrics.hpp"

namespace latchkey::server {

class service_reporter {
  public:
    // `node` null: this process is no node of a cluster.
    service_reporter(base::wall_ms started_at, cluster::node const* node, std::string node_name)
        : started_at_(started_at), node_(node), node_name_(std::move(node_name)) {}

    void enter(worker_metrics const& worker);
    api::service_report report() const;

  private:
    base::wall_ms started_at_;
    cluster::node const* node_;
    std::string node_name_;
    mutable std::mutex mutex_;
    std::vector<worker_metrics const*> workers_;
};

}  // namespace latchkey::server
