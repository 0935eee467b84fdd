// Reads bodies about keys (api.md §4) and the lines of `keys import`; the counterpart of
// key_json.hpp. All faults of the members are collected. Values; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "api/frame/api_error.hpp"
#include "base/result.hpp"
#include "domain/command.hpp"
#include "wire/http/request.hpp"

namespace latchkey::api {

// The values of members that a body leaves out.
struct key_defaults {
    std::string_view project = "default";
    model::scope_set scopes;       // empty: the body must name some
    std::int64_t ttl_seconds = 0;  // 0: no expiry
    base::wall_ms now = 0;
};

// POST /keys. The caller adds digest, start and last4, but for a record of kind `jwt`, which has
// its digest.
api_result<domain::create_key> read_new_key(http::request const& request,
                                            key_defaults const& defaults,
                                            std::vector<base::fault>& faults);
// PATCH /keys/{id}. The caller adds the id.
api_result<domain::change_key> read_key_change(http::request const& request,
                                               std::vector<base::fault>& faults);
// POST /keys/{id}/deactivate.
api_result<model::deactivation> read_reason(http::request const& request,
                                            std::vector<base::fault>& faults);

// POST /keys/verify.
struct verify_body {
    std::string key;
    model::id key_id = 0;  // instead of `key`
    std::optional<http::method> method;
    std::string path;  // with its query
    model::scope_set scopes;
    std::optional<model::address> ip;
    std::uint32_t cost = 1;
};
api_result<verify_body> read_verify(http::request const& request, std::vector<base::fault>& faults);

// One line of `keys import`: an object with `sha256` (64 hexadecimal digits) or, of kind `jwt`,
// `issuer` and `subject`; `name`, and the other members of a POST /keys. Errors are sentences.
base::result<model::key> read_import(std::string_view line, key_defaults const& defaults);

}  // namespace latchkey::api
