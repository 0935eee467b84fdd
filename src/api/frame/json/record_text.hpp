// Texts of records in JSON. Any thread.
#pragma once

#include <string_view>

#include "api/frame/json/json_writer.hpp"
#include "model/utf8.hpp"

namespace latchkey::api {

// `plain`: the flag of the record, which says that JSON needs no escapes; a terminal may (api.md
// §1).
void append_text(auto& output, std::string_view text, bool plain) {
    bool const as_is = plain && !model::has_hidden_point(text);
    as_is ? append_plain_string(output, text) : append_string(output, text);
}

}  // namespace latchkey::api
