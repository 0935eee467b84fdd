#include "server/common.hpp"

#include <algorithm>
#include <string>

#include "base/system/log.hpp"

namespace latchkey::server {
namespace {

// Descriptors that a worker opens beside its connections, and those that clients of the management
// listener, a reload, a new log or a backlog of closes may need.
constexpr std::uint64_t worker_descriptors = 8, spare_descriptors = 48;

}  // namespace

void common::keep_descriptors(process_stats const& process, std::uint64_t connections,
                              unsigned workers) {
    auto const now = process.read();
    if (!now) return;
    auto const others = now->open_descriptors + workers * worker_descriptors + spare_descriptors;
    auto const room = now->descriptors_max > others ? now->descriptors_max - others : 0;
    auto const fitting = std::max<std::uint64_t>(room / workers, 1);
    if (fitting >= connections) return;
    connections_max = fitting;
    base::log(base::severity::warning,
              "of " + std::to_string(connections) + " connections per worker only " +
                  std::to_string(fitting) + " fit, since at most " +
                  std::to_string(now->descriptors_max) +
                  " files may be open: raise that with ulimit -Hn, or LimitNOFILE= in the unit");
}

void common::begin_console(base::wall_ms started_at, std::string node_name) {
    sessions =
        std::make_unique<auth::session_cipher>(store.derived_key("browser sessions").value());
    reporter = std::make_unique<service_reporter>(started_at, node, std::move(node_name));
    report = [this] { return reporter->report(); };
}

}  // namespace latchkey::server
