// Health checks: the JSON documents of `/livez` and `/readyz`. Values; any thread.
#pragma once

#include <span>
#include <string_view>

#include "wire/http/response.hpp"

namespace latchkey::server {

// One condition of readiness; it holds if `failure` is empty.
struct readiness_check {
    std::string_view name;
    std::string_view failure;
};

// 200 `{"status":"ready","checks":{"store":"ok"}}`, or 503 `{"status":"not ready",…}` with the
// failures.
void answer_readiness(std::span<readiness_check const> checks, http::response& answer);
// 200 `{"status":"live"}`.
void answer_liveness(http::response& answer);

}  // namespace latchkey::server
