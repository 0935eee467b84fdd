// External events as JSON (api.md §12). Any thread.
#pragma once

#include <string>

#include "model/event.hpp"

namespace latchkey::api {

void append_event(std::string& output, model::event_view const& event);

}  // namespace latchkey::api
