// Reading events of external services, and the secrets of their sources (api.md §12). Of the thread
// of the snapshot; what cannot be read is left out, and the snapshot is `damaged`.
#pragma once

#include <optional>
#include <string_view>

#include "base/function_ref.hpp"
#include "domain/events/event_secret.hpp"
#include "domain/snapshot.hpp"
#include "model/event.hpp"

namespace latchkey::domain {

std::optional<model::event_view> find_event(snapshot const& view, model::id id);
// With `source` those of that source.
using event_sink = base::function_ref<void(model::event_view const&)>;
list_result list_events(snapshot const& view, std::optional<std::string_view> source,
                        range const& part, event_sink sink);

// The secrets that are valid at `now`; nullopt: none, or unreadable.
std::optional<event_secrets> find_event_secrets(snapshot const& view, std::string_view source,
                                                base::wall_ms now);
// The sources above `position` that have a secret or events, in the order of their names; at most
// `limit`. True: there are more.
using event_source_sink = base::function_ref<void(event_source&&)>;
bool list_event_sources(snapshot const& view, std::string_view position, std::size_t limit,
                        base::wall_ms now, event_source_sink sink);

}  // namespace latchkey::domain
