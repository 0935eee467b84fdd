// Lists of the audit log. Of the thread of the snapshot.
#pragma once

#include <optional>
#include <string_view>

#include "base/function_ref.hpp"
#include "domain/audit/audit.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

// All of it, or the entries about the keys of one project and, `with_sources`, those about sources
// of events, which belong to no project.
using audit_sink = base::function_ref<void(audit_entry const&)>;
list_result audit_entries(snapshot const& view, std::optional<std::string_view> project,
                          range const& part, audit_sink sink, bool with_sources = false);

}  // namespace latchkey::domain
