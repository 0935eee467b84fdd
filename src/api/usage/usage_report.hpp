// The answers of GET /usage and GET /keys/{id}/usage (api.md §4), for HTTP and the command line.
// One thread.
#pragma once

#include <optional>
#include <string>

#include "api/frame/api_error.hpp"
#include "api/frame/checks/query.hpp"
#include "base/function_ref.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::api {

// The keys whose usage is shown, and the time of the request. References, valid during a call.
struct usage_view {
    domain::snapshot const& snapshot;
    base::wall_ms now = 0;
    base::function_ref<bool(model::key const&)> is_visible;
    bool sees_all = false;  // `is_visible` holds for every key
};

// The usage of many keys: their sums, and the points of some. A key that is not visible is left
// out, as one that does not exist.
std::optional<api_error> append_usage(query& query, usage_view const& view, std::string& output);
// The usage of one key: a point for every step that is still kept and has begun. Others are left
// out: a zero would say that the key was not used.
std::optional<api_error> append_usage_of(model::id id, query& query, usage_view const& view,
                                         std::string& output);

}  // namespace latchkey::api
