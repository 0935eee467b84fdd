// How the whole process does, for GET /service (api.md §18): counters since its start. Values; the
// source may be called on any thread, and takes locks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace latchkey::api {

struct service_report {
    // A node of the cluster, as this one knows of it.
    struct node {
        std::string name;
        bool is_self = false;
        bool is_alive = false;       // it may hold a lease
        std::uint64_t lag_rows = 0;  // of the log, that it has not told to have applied
        std::string version;
    };
    struct bucket {
        std::uint64_t bound_ns = 0;
        std::uint64_t count = 0;  // of requests that took at most as long
    };

    base::wall_ms started_at = 0;
    std::array<std::uint64_t, 4> requests{};  // by class of status, 2xx to 5xx
    std::uint64_t limited = 0, failed_authentications = 0;
    std::uint64_t connections = 0, streams = 0;  // open now
    std::uint64_t duration_count = 0, duration_sum_ns = 0;
    std::vector<bucket> durations;  // ascending, cumulative
    std::vector<node> nodes;        // empty: no node of a cluster
};
using report_source = std::function<service_report()>;

}  // namespace latchkey::api
