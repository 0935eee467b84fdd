// Why a request has no credential, where something in it looks like one in another form: the detail
// of a 401 `key_missing` (api.md §2). Nothing that the client sent is repeated, since it may be a
// key. Any thread.
#pragma once

#include <string_view>

#include "wire/http/request.hpp"

namespace latchkey::api {

// A sentence of static storage; empty: nothing looks like a credential. Call it before credentials
// are wiped. Source of the schemes: IANA's registry of HTTP authentication schemes, and common
// clients.
std::string_view unread_credential(http::request const& request, bool allow_query);

}  // namespace latchkey::api
