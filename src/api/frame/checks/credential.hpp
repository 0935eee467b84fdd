// Finds and wipes the API key of a request (api.md §2): of four ways the first that is present
// counts, and one way used twice is refused. Without any, the session of a browser counts. Whether
// the key is valid is decided by auth::cache. No ownership; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/frame/json/json_reader.hpp"
#include "base/problem.hpp"
#include "wire/http/request.hpp"

namespace latchkey::api {

// `session`: a browser holds a sealed session instead of a key (api.md §18). `token`: a JWT (§19).
enum class key_source : std::uint8_t { none, bearer, header, query, body, session, token };
std::string_view name_of(key_source source);

struct credential {
    base::problem problem = base::problem::none;  // duplicate_credentials, key_missing
    key_source source = key_source::none;         // none and no problem: absent
    std::string_view key;                         // may be empty, which is invalid
};

// Ways 1 to 3. `decoded` stores a key that was percent-encoded in the query.
credential find_credential(http::request const& request, bool allow_query, std::string& decoded);
// Way 4, in a scan of the body that builds no document. `key` is a view of `text`; empty where it
// is longer than any key.
credential find_credential(std::string_view body, base::secret& text);

// The sealed session of a browser, from its first cookie of that name; nullopt: there is none.
std::optional<std::string_view> find_session(http::request const& request);
inline constexpr std::string_view session_cookie = "__Host-latchkey";
// The browser says that a page of this service sent the request, and, of one that may change
// something, the page too: by a field that a form or a link cannot send.
// `is_https`: the client's own connection, which a proxy may end.
bool is_from_own_page(http::request const& request, bool is_https);

// Overwrites the credentials of ways 1 to 3 and the sessions where they lie in the connection's
// buffer, which must be writable.
void wipe_credentials(http::request const& request);
// Overwrites the string that is the top-level member api_key (way 4) or `name`. `body` must be a
// JSON object.
void wipe_credential(std::string_view body);
void wipe_member(std::string_view body, std::string_view name);
void wipe(std::string_view secret);

// Overwrites a secret at the end of its scope, whichever return ends it.
class wiped_at_end {
  public:
    explicit wiped_at_end(std::string_view secret) : secret_(secret) {}
    ~wiped_at_end() { wipe(secret_); }
    wiped_at_end(wiped_at_end const&) = delete;
    wiped_at_end& operator=(wiped_at_end const&) = delete;
    void keep() { secret_ = {}; }  // it will be read again

  private:
    std::string_view secret_;
};

// The parts of a body around its first top-level member api_key and the comma that goes with it.
// White space around a member between two others, or a single one, is left out too; of the first
// one that behind its comma, of the last one that around it. Whole in `head`: there is none.
struct body_parts {
    std::string_view head, tail;
};
body_parts without_credential(std::string_view body);

}  // namespace latchkey::api
