// `/metrics`: what there is to count, in Prometheus' text format (version 0.0.4). Its names are an
// interface like the API's: dashboards and alerts are made of them. Read on the thread that serves
// the page; every number may be a little late, and two of them need not be of the same moment.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "server/access_log.hpp"
#include "server/metrics.hpp"
#include "store/environment.hpp"
#include "store/writer.hpp"

namespace latchkey::server {

// What the page is made from.
struct measured {
    std::vector<worker_metrics const*> workers;
    std::size_t connections = 0;  // open
    store::writer::counters commits;
    store::environment& store;
    std::uint64_t log_lines_dropped = 0;
    base::instant started, now;
};

inline constexpr std::string_view exposition_type = "text/plain; version=0.0.4; charset=utf-8";
void append_exposition(measured const& of, std::string& to);

}  // namespace latchkey::server
