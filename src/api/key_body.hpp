// The JSON counterpart of key_json.hpp: bodies about keys (API §4), read with every fault of a
// member at once. Also the lines of `keys import`.
#pragma once

#include <string_view>
#include <vector>

#include "api/trouble.hpp"
#include "base/result.hpp"
#include "http/request.hpp"
#include "store/command.hpp"

namespace latchkey::api {

// What a body may leave out, and where it comes from then.
struct key_defaults {
    std::string_view project = "default";
    model::scope_set scopes;       // empty: the body must name some
    std::int64_t ttl_seconds = 0;  // 0: no expiry
    base::wall_ms now = 0;
};

// POST /keys. Digest, start and last4 are the caller's to add.
or_trouble<store::create_key> read_new_key(http::request const& request, key_defaults const& from,
                                           std::vector<base::fault>& faults);
// PATCH /keys/{id}; the id is the caller's to add.
or_trouble<store::change_key> read_key_change(http::request const& request,
                                              std::vector<base::fault>& faults);
// The optional bodies of actions. Seconds, and a reason.
or_trouble<std::int64_t> read_overlap(http::request const& request,
                                      std::vector<base::fault>& faults);
or_trouble<model::deactivation> read_reason(http::request const& request,
                                            std::vector<base::fault>& faults);
// An action that takes no members.
std::optional<trouble> read_nothing(http::request const& request, std::vector<base::fault>& faults);

// POST /keys/verify.
struct verify_body {
    std::string key;
    model::scope_set scopes;
    std::optional<model::address> ip;
    std::uint32_t cost = 1;
};
or_trouble<verify_body> read_verify(http::request const& request, std::vector<base::fault>& faults);

// One line of `keys import`: an object with `sha256` (64 hexadecimal digits), `name`, and what else
// a body of POST /keys may have. A sentence when it is none.
base::result<model::key> read_import(std::string_view line, key_defaults const& from);

inline constexpr std::int64_t overlap_seconds_max = 172'800;
inline constexpr std::int64_t overlap_seconds_default = 86'400;
inline constexpr std::int64_t ttl_seconds_min = 60;
inline constexpr std::int64_t ttl_seconds_max = 157'680'000;

}  // namespace latchkey::api
