// External events as JSON (api.md §12). Any thread.
#pragma once

#include <string>

#include "model/event.hpp"
#include "store/records/change_record.hpp"

namespace latchkey::api {

void append_event(std::string& output, model::event_view const& event);
// The event of a change; false: it cannot be decoded, and nothing was appended.
bool append_changed_event(std::string& output, store::change_view const& change);

}  // namespace latchkey::api
