// Users as JSON (api.md §5), for HTTP and the command line. Any thread.
#pragma once

#include <string>

#include "model/user.hpp"
#include "store/records/change_record.hpp"

namespace latchkey::api {

void append_user(std::string& output, model::user_view const& user);
// The user of a change; false: it cannot be decoded, and nothing was appended.
bool append_changed_user(std::string& output, store::change_view const& change);

}  // namespace latchkey::api
