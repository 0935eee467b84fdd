// Users as JSON (api.md §5), for HTTP and the command line. Any thread.
#pragma once

#include <string>

#include "domain/changes/change_record.hpp"
#include "model/user.hpp"

namespace latchkey::api {

void append_user(std::string& output, model::user_view const& user);
// The user of a change; false: it cannot be decoded, and nothing was appended.
bool append_changed_user(std::string& output, domain::change_view const& change);

}  // namespace latchkey::api
