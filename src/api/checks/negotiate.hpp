// Media types (RFC 9110 §8.3, §12.5.1): does a client accept JSON or ask for a stream of events,
// and is its body JSON? No ownership; any thread.
#pragma once

#include <string_view>

#include "http/request.hpp"

namespace latchkey::api {

// False when the most specific range of the Accept fields for application/json has q=0, or none
// fits.
bool accepts_json(http::request const& request);

// The Accept fields name text/event-stream itself, without q=0, and before application/json if they
// name that too.
bool asks_for_events(http::request const& request);

// The body's media type is application/json (or, on PATCH, application/merge-patch+json), and its
// charset, if named, UTF-8.
bool has_json_body(http::request const& request);

}  // namespace latchkey::api
