// A client's JSON body (RFC 8259) as a document, strictly: a repeated member, invalid UTF-8, a lone
// surrogate, bytes behind the document or nesting beyond 32 are errors.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey::api {

struct json_document {
    std::optional<boost::json::value> root;  // empty: not JSON
    std::string wrong;                       // what is wrong then, for people
    bool credential_twice = false;           // the top-level member api_key came more than once
};

json_document read_json(std::string_view text);

// The member of the body that may carry the credential; never seen by a handler.
inline constexpr std::string_view credential_member = "api_key";

}  // namespace latchkey::api
