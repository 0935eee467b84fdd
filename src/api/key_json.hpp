// A key's record as JSON (API §4), for the HTTP interface and the command line alike.
#pragma once

#include <string>
#include <string_view>

#include "model/key.hpp"

namespace latchkey::api {

// The record as of `now`, and the key itself where it was just made (`plain` not empty): the only
// time that it is shown.
void append_key(std::string& to, model::key const& record, base::wall_ms now,
                std::string_view plain);

}  // namespace latchkey::api
