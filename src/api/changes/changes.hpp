// The part of the changes that a request asks for (api.md §16). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/frame/request_context.hpp"
#include "domain/changes/change_types.hpp"

namespace latchkey::api {

inline constexpr std::uint32_t changes_page_default = 100, changes_page_max = 1000;

// Whether the caller may see changes of keys and webhooks of that project; empty: of neither.
bool sees_change_of(auth::principal const& caller, std::string_view project);

struct change_range {
    model::id position = 0;  // only sequences beyond it
    domain::change_types types = domain::change_types::all();
};
// Takes `after` and `type` from the query. `last_event_id` is used instead of `after`, if given.
api_result<change_range> take_change_range(request_context const& context,
                                           domain::snapshot const& snapshot,
                                           std::optional<model::id> last_event_id);

}  // namespace latchkey::api
