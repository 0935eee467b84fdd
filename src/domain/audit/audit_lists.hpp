// Lists of the audit log. Of the thread of the snapshot.
#pragma once

#include <optional>
#include <string_view>

#include "base/function_ref.hpp"
#include "domain/audit/audit.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

// An absent member selects everything. With `action` or `key` each entry that the other members
// select is read, and they are counted where they are few (list_part.hpp).
struct audit_filter {
    std::optional<std::string_view> project = {};
    bool with_sources = false;  // beside the project, secrets of sources, which belong to none
    std::optional<audit_action> action = {};
    std::optional<model::id> key = {};                  // that was changed, or made the change
    std::optional<base::wall_ms> begin = {}, end = {};  // times that ascend with the ids
};
using audit_sink = base::function_ref<void(audit_entry const&)>;
list_result audit_entries(snapshot const& view, audit_filter const& filter, range const& part,
                          audit_sink sink);

}  // namespace latchkey::domain
