// Strict reading of a client's JSON (RFC 8259): a repeated member, invalid UTF-8, a lone surrogate,
// bytes after the document and nesting beyond 32 are errors. Two readers: `read_json` builds a
// document and bounds its members; `scan_json` keeps one member and builds nothing. Boost.JSON
// parses, but its values are not used (json_value.hpp says why). Values; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/frame/json/json_value.hpp"
#include "base/secret.hpp"

namespace latchkey::api {

// More than limits::json_members_max members in one object, or more than limits::json_values_max
// values in all: the rest was not read.
struct json_excess {
    std::string member;  // the top-level member that has them; empty: the document itself
    std::string bound;   // a sentence: how many there may be
};

struct json_document {
    std::optional<json_value> root;  // empty: not JSON, or too much of it
    std::string error;               // then a sentence that says why
    std::optional<json_excess> excess;
    bool duplicate_credential = false;  // the top-level member api_key is repeated
};

// Objects and lists nested deeper than limits::json_kept_depth_max are checked, and empty in the
// document.
json_document read_json(std::string_view text);

struct json_scan {
    std::string error;        // empty: it is one document
    bool object = false;      // its root is an object
    bool has_member = false;  // which has the member
    bool repeated = false;    // the member is repeated: the rest was not read
    base::secret text;        // the member, if it is a string of at most base::secret::bytes_max
};

// Whether other members may be repeated: a body is scanned for a credential before it is validated.
enum class repeats : bool { refused, allowed };

// Reads a text of any number of members and keeps its top-level member `name`. Costs at most one
// hash for each name (none where repeats are allowed), whatever the text is.
json_scan scan_json(std::string_view text, std::string_view name, repeats others);

// The member of a body that may carry the credential; no handler sees it.
inline constexpr std::string_view credential_member = "api_key";

}  // namespace latchkey::api
