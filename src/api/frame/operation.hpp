// The documentation of each operation. Every route has one of these (route.hpp), and the OpenAPI
// document is made of the routes, so neither can lack what the other has. What follows from the
// route itself (scope, credentials, body, problems of every such request) is not repeated here.
// Constants; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/problem.hpp"

namespace latchkey::api {

// The status, fields and caching of a success.
enum class success : std::uint8_t {
    resource,  // 200 with a strong ETag
    report,    // 200, changes with time: no ETag
    list,      // 200 with `pagination` and Link; adds page, limit, cursor and sort
    done,      // 200 of a write or an action, not to be stored
    created,   // 201 with Location
    accepted,  // 202
    deleted,   // 204
    gateway,   // 200 without content, the answer is in X-Auth-*
    document,  // 200, the same for everyone, may be stored by anyone
    health,    // 200, not to be stored
};

struct operation {
    std::string_view id;       // operationId: what generated clients call it
    std::string_view group;    // the name of an operation_group
    std::string_view summary;  // one line
    success result;
    std::string_view response_schema{};  // empty: not JSON
    std::string_view request_schema{};   // of the body; a `?` at the end: the body may be absent
    std::array<std::string_view, 8> query{};  // parameters, beside those that lists add
    std::array<base::problem, 8> problems{};  // beside those of every such request
    std::string_view description{};           // CommonMark
    // Turns something off: in a cluster 202 where a node has not confirmed it (api.md §15).
    bool is_confirmed = false;
    bool sets_cookie = false;  // the session of a browser (api.md §18)
};

// A group of operations: a tag of the document and a page of the documentation.
struct operation_group {
    std::string_view name, text;
};

}  // namespace latchkey::api
