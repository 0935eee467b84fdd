// The answer of POST /keys/verify (api.md §4), for HTTP and the command line. Pure functions; any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "api/frame/request_context.hpp"
#include "api/keys/key_json.hpp"
#include "auth/cache.hpp"
#include "base/problem.hpp"
#include "wire/http/request.hpp"

namespace latchkey::api {

// Whether the caller is told about a key of that project that is shown to it.
bool verifies_project(request_context const& context, std::string_view project);

struct permission {
    base::problem problem = base::problem::none;
    std::string_view missing_scope;
};
// May a key make this request? Its route decides first, then the key's scopes (api.md §3). `target`
// has its query.
permission permission_of(auth::principal const& key, http::method method, std::string_view target);

struct verification {
    base::problem result = base::problem::none;
    std::string_view missing_scope = {};
    auth::principal const* caller = nullptr;  // whose key it is; null: unknown to who asks
    live_limits const* live = nullptr;        // null: the state of the limits is not known
};
void append_verification(std::string& output, verification const& verification);

}  // namespace latchkey::api
