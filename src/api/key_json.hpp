// A key's record as JSON (API §4), for the HTTP interface and the command line alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "limit/buckets.hpp"
#include "model/key.hpp"

namespace latchkey::api {

// A key's limits and what is left of them.
struct live_limits {
    limit::policy const& rules;
    limit::decision const& seen;
};

// The record as of `now`. Where the key was made, `plain` is it, the only time that it is shown, or
// empty (null) when it was shown before. With `live` the limits say what is left of them.
void append_key(std::string& to, model::key const& record, base::wall_ms now,
                std::optional<std::string_view> plain, base::wall_ms last_used_at = 0,
                live_limits const* live = nullptr);

// Single members, with the comma before them.
void append_scopes(std::string& to, model::key const& record);
void append_metadata(std::string& to, model::key const& record);
void append_limits(std::string& to, live_limits const& live);

inline constexpr std::size_t key_start_bytes = 8;

}  // namespace latchkey::api
