// The secrets that an external service signs its events with (API §12): one for each source, and
// for a while after it was replaced the one before. A value; wiped when it goes.
#pragma once

#include <optional>

#include "base/secret.hpp"
#include "model/event.hpp"

namespace latchkey::store {

struct event_secret {
    model::event_format format = model::event_format::standard;
    base::wall_ms created_at = 0;
    base::wall_ms ends_at = 0;  // from when on it signs no more; 0: it is the current one
    base::secret text;
};
struct event_secrets {
    event_secret current;
    std::optional<event_secret> previous;  // that still signs
};

}  // namespace latchkey::store
