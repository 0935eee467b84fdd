// Reading the usage of keys (api.md §4). Of the thread of the snapshot, which is `damaged` where an
// entry cannot be read.
#pragma once

#include "base/function_ref.hpp"
#include "domain/snapshot.hpp"
#include "model/usage.hpp"

namespace latchkey::domain {

// Usage of a key, one step at a time from the step that contains `begin` to the last that starts
// before `end`; zeros where nothing was counted.
using usage_sink = base::function_ref<void(base::wall_ms start, model::usage const&)>;
void list_usage(snapshot const& view, model::id key, model::granularity granularity,
                base::wall_ms begin, base::wall_ms end, usage_sink sink);

// Usage of all keys in those steps, ascending, then by key, until the visitor returns false; of the
// first step that of keys beyond `last_key`.
using usage_visitor =
    base::function_ref<bool(base::wall_ms start, model::id key, model::usage const&)>;
void list_usage_of_all(snapshot const& view, model::granularity granularity, base::wall_ms begin,
                       base::wall_ms end, usage_visitor visitor, model::id last_key = 0);

}  // namespace latchkey::domain
