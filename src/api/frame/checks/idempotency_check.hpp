// Idempotency-Key (api.md §9, draft-ietf-httpapi-idempotency-key-header): its syntax, and when two
// requests are the same. The store keeps the outcomes. No ownership; any thread.
//
//     auto const key = read_idempotency_key(*request.find(http::field_name::idempotency_key));
//     if (!key) … 400 idempotency_key_invalid …
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/key.hpp"
#include "wire/http/request.hpp"

namespace latchkey::api {

// 1 to 255 visible ASCII characters, bare or as an RFC 8941 string, which are the same key: the
// string "a\"b" is a"b. Parameters after a string are refused. nullopt: not a key.
std::optional<std::string> read_idempotency_key(std::string_view value);

// SHA-256 of method, path, query and body, without credentials: the parameter api_key and, of a
// POST, the first member api_key are left out with the ampersand or comma that goes with them, so
// that a request is the same in whichever of the four ways it carries its key. `path` is the one
// with the prefix. Everything else counts byte by byte. An `external` body is kept byte for byte
// and holds no credential of the caller, so all of it counts.
model::digest fingerprint(http::request const& request, std::string_view path, bool external);

}  // namespace latchkey::api
