// A key's record as JSON (api.md §4), for HTTP and the command line. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/changes/change_record.hpp"
#include "domain/command.hpp"
#include "limit/buckets.hpp"
#include "model/key.hpp"

namespace latchkey::api {

// A key's limits and their current state.
struct live_limits {
    limit::policy const& policy;
    limit::decision const& decision;
};

// The record as of `now`. In the response that makes a key, `plain` is its text, shown this one
// time; empty (null) when it was shown before. With `live` the limits have their current state.
void append_key(std::string& output, model::key const& record, base::wall_ms now,
                std::optional<std::string_view> plain, base::wall_ms last_used_at = 0,
                live_limits const* live = nullptr);

// The key of a change, in the state that it had by then; false: it cannot be decoded, and nothing
// was appended.
bool append_changed_key(std::string& output, domain::change_view const& change);

// The record of a key that was deactivated, and `created` where it was as compromised.
void append_deactivated_key(std::string& output, domain::outcome const& outcome);

// One member, with the comma before it.
void append_scopes(std::string& output, model::scope_set const& scopes);
void append_metadata(std::string& output, model::key const& record);
void append_limits(std::string& output, live_limits const& live);
void append_limits(std::string& output, model::key const& record);  // without their state

inline constexpr std::size_t key_start_bytes = 8;

}  // namespace latchkey::api
