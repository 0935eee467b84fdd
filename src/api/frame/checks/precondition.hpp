// Conditional requests (RFC 9110 §13, api.md §8): If-Match and If-None-Match. Those of a read are
// compared with the ETag of its response; those of a write travel in the command and are checked
// inside the transaction, so that no write can come in between. No response has Last-Modified, so
// conditions on times are ignored (§13.1.3). No ownership; any thread.
//
// Text that is not an entity tag, such as one without quotes, matches nothing: a read is answered
// in full and a write with If-Match is refused, which never loses a change. `*` counts only alone.
#pragma once

#include <optional>

#include "api/frame/api_error.hpp"
#include "domain/command.hpp"
#include "model/entity_tag.hpp"
#include "wire/http/request.hpp"
#include "wire/http/response.hpp"

namespace latchkey::api {

void add_tag(http::response& response, model::entity_tag const& tag);
// The tag of the record that was written; nothing where there is none.
void add_tag(http::response& response, domain::outcome const& outcome);
// A weak tag: XXH3 of the content, so that every change of the content changes the tag. A version
// of the store would miss what a worker has not written yet, such as last uses.
void add_weak_tag(http::response& response);

// For a 200 response to a read: makes it a 304 without content where If-None-Match names its tag;
// precondition_failed where If-Match does not. Allocates nothing but that error.
std::optional<api_error> check_conditions(http::request const& request, http::response& response);

// For a write. `required`: there must be an If-Match.
domain::conditions take_conditions(http::request const& request, bool required);

}  // namespace latchkey::api
