// Reading webhooks, how far they have come, and their deliveries (api.md §17). Of the thread of the
// snapshot. What cannot be read is left out, and the snapshot is `damaged`.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "domain/snapshot.hpp"
#include "domain/webhooks/webhook_command.hpp"

namespace latchkey::domain {

// Without the values of its header fields. nullopt: there is none, or it is unreadable.
std::optional<webhook_entry> find_webhook(snapshot const& view, model::id id);
// With `project` those of that project; each webhook is read.
using webhook_sink = base::function_ref<void(webhook_entry const&)>;
list_result list_webhooks(snapshot const& view, std::optional<std::string_view> project,
                          range const& part, webhook_sink sink);
// With what is needed to send: for the one who sends, and for nobody else. nullopt: there is none,
// or it is unreadable or encrypted under another master key.
std::optional<signing_webhook> find_signing_webhook(snapshot const& view, model::id id,
                                                    base::wall_ms now);
std::vector<model::webhook_replay> read_replays(snapshot const& view,
                                                model::id webhook);  // ascending

std::optional<model::delivery> find_delivery(snapshot const& view, model::id sequence,
                                             model::id webhook);
// Visits pending deliveries of sequences above `position`, ascending, until the visitor returns
// false.
using pending_visitor = base::function_ref<bool(model::delivery const&)>;
void visit_pending_deliveries(snapshot const& view, model::id webhook, model::id position,
                              pending_visitor visitor);
using delivery_sink = base::function_ref<void(model::delivery const&)>;
delivery_page list_deliveries(snapshot const& view, model::id webhook, delivery_range const& part,
                              delivery_sink sink);
std::optional<delivery_lease> find_delivery_lease(snapshot const& view);  // it may have ended

}  // namespace latchkey::domain
