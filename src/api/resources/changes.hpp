// Changes as JSON, and the part of them that a request asks for (api.md §16). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/request_context.hpp"
#include "store/records/change_record.hpp"

namespace latchkey::api {

// The change with its record as the API shows it. A record that cannot be decoded, of a newer
// program or damaged, is shown as `{"id": …}` alone, like one that was too large to keep.
void append_change(std::string& output, store::change_view const& change);

inline constexpr std::uint32_t changes_page_default = 100, changes_page_max = 1000;

// Whether the caller may see changes of keys and webhooks of that project; empty: of neither.
bool sees_change_of(auth::principal const& caller, std::string_view project);

struct change_range {
    model::id position = 0;  // only sequences beyond it
    model::change_types types = model::change_types::all();
};
// Takes `after` and `type` from the query. `last_event_id` is used instead of `after`, if given.
api_result<change_range> take_change_range(request_context const& context,
                                           store::snapshot const& snapshot,
                                           std::optional<model::id> last_event_id);

}  // namespace latchkey::api
