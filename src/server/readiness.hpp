// `/livez` and `/readyz`: two small JSON documents for whoever sends traffic here. Values, any
// thread.
#pragma once

#include <span>
#include <string_view>

#include "http/response.hpp"

namespace latchkey::server {

// One condition for taking traffic; `failure` empty: it holds.
struct readiness_check {
    std::string_view name;
    std::string_view failure;
};

// 200 `{"status":"ready","checks":{"store":"ok"}}`, or 503 `{"status":"not ready",…}` with what is
// wrong with those that fail.
void answer_readiness(std::span<readiness_check const> checks, http::response& answer);
// 200 `{"status":"live"}`.
void answer_liveness(http::response& answer);

}  // namespace latchkey::server
