// Webhooks and their deliveries as JSON (api.md §17), for HTTP and the command line. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "domain/snapshot.hpp"
#include "domain/webhooks/webhook_command.hpp"

namespace latchkey::api {

// Stands for the value of a header field, which is not shown.
inline constexpr std::string_view header_mask = "***";

// The record as of `now`. In the answer that makes a secret, `secret` is its HMAC key, shown this
// one time; empty (null) where it was shown before. Reserves first then, since a string that grows
// leaves a copy behind.
void append_webhook(std::string& output, domain::webhook_entry const& entry, base::wall_ms now,
                    base::secret const* secret = nullptr);
// The change webhook.test that an outcome tells of, at the time of the outcome.
void append_test(std::string& output, domain::webhook_outcome const& outcome, base::wall_ms time);
// The webhook of a change; false: it cannot be decoded, and nothing was appended.
bool append_changed_webhook(std::string& output, domain::change_view const& change);

// The webhook-id of a change; empty: it is not kept any more.
std::string message_id_of(domain::snapshot const& snapshot, model::id sequence);
// `message_id`: its webhook-id.
void append_delivery(std::string& output, model::delivery const& delivery,
                     std::string_view message_id);

}  // namespace latchkey::api
