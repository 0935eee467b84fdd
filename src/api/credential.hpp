// Where a request carries its API key (API §2): four ways, the first that is present decides, and
// the same way twice is refused. Finds only; whether the key is any good is auth's to say.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/exchange.hpp"
#include "api/json_reader.hpp"

namespace latchkey::api {

struct credential {
    base::problem problem = base::problem::none;  // duplicate_credentials, key_missing
    key_source source = key_source::none;         // none with problem none: absent by these ways
    std::string_view key;                         // may be empty: present and invalid
};

// Ways 1 to 3. `decoded` holds the key where the query had it percent-encoded.
credential find_credential(http::request const& request, bool allow_query, std::string& decoded);
// Way 4, over the whole body. `key` points into the document.
credential find_credential(json_document const& body);

// Overwrites the credential where it lies in the connection's buffer, by all of ways 1 to 3: the
// bytes behind the request's views are the server's own, and nobody needs these again.
void wipe_credentials(http::request const& request);
// The same for way 4: overwrites the string that is the top-level member api_key, or another one.
// `body` must be a JSON object.
void wipe_credential(std::string_view body);
void wipe_member(std::string_view body, std::string_view name);
void wipe(std::string_view secret);

}  // namespace latchkey::api
