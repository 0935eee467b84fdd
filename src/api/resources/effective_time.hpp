// `effective_by` of a document: what was turned off is durable, and a node that does not answer may
// accept it until then (api.md §15).
#pragma once

#include <string>

#include "api/json/json_writer.hpp"
#include "base/clock.hpp"

namespace latchkey::api {

// As the last member of the object; of an empty text an object with it alone.
inline void append_effective_time(std::string& document, base::wall_ms time) {
    if (document.ends_with('}'))
        document.back() = ',';
    else
        document.assign(1, '{');
    document.append("\"effective_by\":");
    append_timestamp(document, time);
    document.push_back('}');
}

}  // namespace latchkey::api
