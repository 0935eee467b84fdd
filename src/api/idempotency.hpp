// Idempotency-Key (API §9, draft-ietf-httpapi-idempotency-key-header): what it may be, and when two
// requests are the same. The outcomes are the store's. No ownership, any thread.
//
//     auto const key = read_idempotency_key(*request.find(http::field_name::idempotency_key));
//     if (!key) … 400 idempotency_key_invalid …
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/request.hpp"
#include "model/key.hpp"

namespace latchkey::api {

inline constexpr std::size_t idempotency_key_bytes_max = 255;

// 1 to 255 visible ASCII characters, bare or as an RFC 8941 string, which is the same key either
// way: "a\"b" in quotes is a"b. Parameters behind the string are refused. nullopt: not one.
std::optional<std::string> read_idempotency_key(std::string_view value);

// SHA-256 of method, path, query and body, without credentials: the parameter api_key and the
// member api_key of a POST are left out together with the comma or ampersand that goes with them,
// so that a request is the same by whichever of the four ways it carries its key. `path` is the one
// under /api/v1, whichever way it was written. Everything else counts byte by byte. A `foreign`
// body is kept as it came and holds no credential of ours, so all of it counts.
model::digest fingerprint(http::request const& request, std::string_view path, bool foreign);

}  // namespace latchkey::api
