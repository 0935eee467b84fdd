#include "server/common.hpp"

namespace latchkey::server {

void common::begin_console(base::wall_ms started_at, std::string node_name) {
    sessions =
        std::make_unique<auth::session_cipher>(store.derived_key("browser sessions").value());
    reporter = std::make_unique<service_reporter>(started_at, node, std::move(node_name));
    report = [this] { return reporter->report(); };
}

}  // namespace latchkey::server
