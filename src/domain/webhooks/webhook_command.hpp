// Webhooks as the store returns them (api.md §17), beside their records. Values, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/webhook.hpp"

namespace latchkey::domain {

// A webhook as everybody may see it who sees it at all: the values of its header fields are empty.
struct webhook_entry {
    model::webhook webhook;
    model::webhook_progress progress;
};

// The outcome of a command about a webhook.
struct webhook_outcome {
    webhook_entry entry;
    base::secret secret;  // of a new or rotated one: its HMAC key. Not kept for a repeat
    // For a test: the sequence of its change, and the key of its caller.
    model::id sequence = 0;
    model::id caller = 0;
    // For a replay: the first and the last sequence that are sent again.
    model::id first = 0;
    model::id last = 0;
};

// A webhook as its sender needs it: with the values of its header fields, and with the secrets that
// sign, the current one first.
struct signing_webhook {
    model::webhook webhook;
    std::vector<model::webhook_secret> secrets;
};

// The node that delivers, until the time that is told.
struct delivery_lease {
    std::string node;
    base::wall_ms deadline = 0;
    bool operator==(delivery_lease const&) const = default;
};
inline constexpr std::size_t webhooks_max = 1000;
inline constexpr std::size_t node_name_bytes_max = 255;

// A part of a webhook's deliveries, newest first.
struct delivery_range {
    model::id bound = 0;                         // only sequences below it; 0: from the newest
    std::optional<model::delivery_state> state;  // only these
    std::uint32_t limit = 20;
    // Before `limit` it ends where `output`, to which the sink appends, has so many bytes or more,
    // and where so much was read (read_work).
    std::string const* output = nullptr;
    std::size_t output_bytes_max = SIZE_MAX;
    std::int64_t cost_max = INT64_MAX;
};
struct delivery_page {
    bool has_more = false;  // or there may be more
    // Where the next page begins (`before`), if there are more. A page may be short, or empty,
    // where too much had to be looked at.
    model::id next_before = 0;
};

}  // namespace latchkey::domain
