// The secrets with which an external service signs its events (api.md §12): one for each source,
// and for a while after a replacement the previous one. Values; wiped when they are destroyed.
#pragma once

#include <optional>

#include "base/secret.hpp"
#include "model/event.hpp"

namespace latchkey::domain {

struct event_secret {
    model::event_format format = model::event_format::standard;
    base::wall_ms created_at = 0;
    base::wall_ms ends_at = 0;  // no longer valid from then on; 0: the current secret
    base::secret text;
};
struct event_secrets {
    event_secret current;
    std::optional<event_secret> previous;  // still valid
};
// A source that has a secret or events.
struct event_source {
    std::string name;
    std::uint64_t events = 0;  // that are kept
    std::optional<event_secrets> secrets;
};

}  // namespace latchkey::domain
