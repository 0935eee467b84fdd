// `effective_by` and `effective_in_seconds` of a document: what was turned off is durable, and a
// node that does not answer may accept it until then (api.md §15).
#pragma once

#include <string>

#include "api/frame/json/json_writer.hpp"
#include "base/clock.hpp"

namespace latchkey::api {

// As the last members of the object; of an empty text an object with them alone.
inline void append_effective_time(std::string& document, base::wall_ms time, base::wall_ms wait) {
    if (document.ends_with('}'))
        document.back() = ',';
    else
        document.assign(1, '{');
    document.append("\"effective_by\":");
    append_timestamp(document, time);
    document.append(",\"effective_in_seconds\":");
    append_number(document, (wait + 999) / 1000);
    document.push_back('}');
}

}  // namespace latchkey::api
