// External events as JSON (api.md §12). Any thread.
#pragma once

#include <string>

#include "domain/changes/change_record.hpp"
#include "model/event.hpp"

namespace latchkey::api {

void append_event(std::string& output, model::event_view const& event);
// The event of a change; false: it cannot be decoded, and nothing was appended.
bool append_changed_event(std::string& output, domain::change_view const& change);

}  // namespace latchkey::api
