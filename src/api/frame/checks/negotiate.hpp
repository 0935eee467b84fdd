// Content negotiation (RFC 9110 §8.3, §12.5.1, §12.5.3): does a client accept JSON, ask for a
// stream of events or for a page, in which coding may it get a file, and is its body JSON? No
// ownership; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/http/request.hpp"

namespace latchkey::api {

// False when the most specific range of the Accept fields for application/json has q=0, or none
// fits.
bool accepts_json(http::request const& request);

// The Accept fields name text/event-stream itself, without q=0, and before application/json if they
// name that too.
bool asks_for_events(http::request const& request);

// The Accept fields name text/html itself, without q=0, as browsers do.
bool asks_for_html(http::request const& request);

// Content codings (RFC 9110 §8.4.1) in which files for browsers are kept.
enum class coding : std::uint8_t { identity, gzip, brotli };
std::string_view name_of(coding coding);  // "gzip", "br"; empty for identity
// The shortest that the Accept-Encoding fields allow; identity when there are none.
coding best_coding(http::request const& request);

// The body's media type is application/json (or, on PATCH, application/merge-patch+json), and its
// charset, if named, UTF-8.
bool has_json_body(http::request const& request);
// The same of application/x-www-form-urlencoded, and of multipart/form-data.
bool has_form_body(http::request const& request);
bool has_multipart_body(http::request const& request);
// Content-Encoding names a coding of the body (RFC 9110 §8.4) other than identity.
bool has_coded_body(http::request const& request);

}  // namespace latchkey::api
