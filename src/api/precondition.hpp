// Conditional requests (RFC 9110 §13, API §8): If-Match and If-None-Match. Those of a read are
// judged by the ETag of its answer; those of a write travel in the command and are judged inside
// the transaction, where nothing can come in between. No answer has a Last-Modified, so the
// conditions on times are ignored, as §13.1.3 wants it.
//
// What is no entity tag (one without its quotes) matches nothing: then a read is answered whole and
// a write with If-Match refused. `*` counts only where it stands alone.
#pragma once

#include <optional>

#include "api/trouble.hpp"
#include "http/request.hpp"
#include "http/response.hpp"
#include "model/entity_tag.hpp"
#include "store/command.hpp"

namespace latchkey::api {

void add_tag(http::response& answer, model::entity_tag const& tag);
// The tag of the record that was written; nothing where there is none.
void add_tag(http::response& answer, store::outcome const& outcome);
// A weak one, of the content as it is: whatever moves that moves the tag.
void add_weak_tag(http::response& answer);

// For an answer of 200 to a read: makes it a 304 without content where the client has it, and is
// precondition_failed where If-Match does not name it. Allocates nothing but that refusal.
std::optional<trouble> meet_conditions(http::request const& request, http::response& answer);

// For a write. `required`: there must be an If-Match.
store::conditions take_conditions(http::request const& request, bool required);

}  // namespace latchkey::api
