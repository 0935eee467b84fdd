// Posts as JSON (api.md §6), for HTTP and the command line. Any thread.
#pragma once

#include <string>

#include "domain/changes/change_record.hpp"
#include "model/post.hpp"

namespace latchkey::api {

void append_post(std::string& output, model::post_view const& post);
// The post of a change; false: it cannot be decoded, and nothing was appended.
bool append_changed_post(std::string& output, domain::change_view const& change);

}  // namespace latchkey::api
