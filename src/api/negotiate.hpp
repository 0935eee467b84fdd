// Media types (RFC 9110 §8.3, §12.5.1): whether a client takes JSON, and whether its body is JSON.
#pragma once

#include <string_view>

#include "http/request.hpp"

namespace latchkey::api {

// False when the Accept fields rule application/json out (their most specific range decides; q=0).
bool accepts_json(http::request const& request);

// The body's media type is application/json (or, on PATCH, application/merge-patch+json), and its
// charset, if named, UTF-8.
bool has_json_body(http::request const& request);

}  // namespace latchkey::api
