// A change as JSON (api.md §16), as pages, streams and webhooks have it. Any thread.
#pragma once

#include <string>

#include "domain/changes/change_record.hpp"

namespace latchkey::api {

// The change with its record as the API shows it. A record that cannot be decoded, of a newer
// program or damaged, is shown as `{"id": …}` alone, like one that was too large to keep.
void append_change(std::string& output, domain::change_view const& change);

}  // namespace latchkey::api
