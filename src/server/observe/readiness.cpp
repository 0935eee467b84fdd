#include "server/observe/readiness.hpp"

#include <algorithm>

namespace latchkey::server {

void answer_readiness(std::span<readiness_check const> checks, http::response& answer) {
    bool const ready = std::all_of(checks.begin(), checks.end(),
                                   [](auto const& each) { return each.failure.empty(); });
    answer.status = ready ? 200 : 503;
    answer.content_type = http::content::json;
    answer.body.append(ready ? R"({"status":"ready","checks":{)"
                             : R"({"status":"not ready","checks":{)");
    // All of it is our own text, which needs no escaping.
    std::string_view separator;
    for (auto const& each : checks) {
        answer.body.append(separator).append("\"").append(each.name).append("\":\"");
        answer.body.append(each.failure.empty() ? "ok" : each.failure).append("\"");
        separator = ",";
    }
    answer.body.append("}}\n");
}

void answer_liveness(http::response& answer) {
    answer.content_type = http::content::json;
    answer.body.append("{\"status\":\"live\"}\n");
}

}  // namespace latchkey::server
