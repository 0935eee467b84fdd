// A table from code to a text of shell, searched linearly: it is read once, when the pages are
// made. Codes with the same remedy name one constant. The commands are complete and use two
// variables, so that they can be pasted.
#include "api/docs/problem_pages.hpp"

namespace latchkey::api {
namespace {

using base::problem;

struct remedy {
    problem code;
    std::string_view text;
};

constexpr std::string_view first_request =
    R"(curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY")";
constexpr std::string_view new_key =
    R"(# With the key of an administrator
curl -sS "$LATCHKEY_URL/api/v1/keys" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json '{"name": "reports", "scopes": ["users:read"], "expires_in": 7776000}')";
constexpr std::string_view waiting =
    R"(# curl waits as long as Retry-After says
curl -sS --retry 5 "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY")";
constexpr std::string_view safe_retry =
    R"(# The same Idempotency-Key in each attempt: it is carried out once
curl -sS --retry 5 "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY" \
  -H "Idempotency-Key: 5f2b8c1a-0001" \
  --json '{"name": "Grace Hopper", "email": "grace@example.com"}')";
constexpr std::string_view conditional_change =
    R"(# Read the post and its ETag, decide, and change it only if it is still that version
curl -sS -i "$LATCHKEY_URL/api/v1/posts/1" -H "Authorization: Bearer $LATCHKEY_KEY"
curl -sS -X PATCH "$LATCHKEY_URL/api/v1/posts/1" -H "Authorization: Bearer $LATCHKEY_KEY" \
  -H 'If-Match: "THE-ETAG"' --json '{"title": "Notes, corrected"}')";
constexpr std::string_view valid_user =
    R"(curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json '{"name": "Ada Lovelace", "email": "ada@example.com"}')";
constexpr std::string_view deletion =
    R"(# Deletions work in a full store, and make room
curl -sS -X DELETE "$LATCHKEY_URL/api/v1/posts/1" -H "Authorization: Bearer $LATCHKEY_KEY")";

constexpr std::string_view token_claims =
    R"(# Issuer, audience and times as the token has them: iss, aud, exp, nbf
printf %s "$TOKEN" | cut -d. -f2 | tr '_-' '/+' | base64 -d 2>/dev/null)";

constexpr remedy remedies[] = {
    {problem::malformed_request, first_request},
    {problem::invalid_json,
     R"(# Checks the body before it is sent
python3 -m json.tool body.json &&
  curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY" \
    --json @body.json)"},
    {problem::invalid_parameter,
     R"(curl -sS "$LATCHKEY_URL/api/v1/users?limit=50&sort=-id" \
  -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::conflicting_parameters,
     R"(# A page or a cursor, not both
curl -sS "$LATCHKEY_URL/api/v1/posts?user_id=1&page=2" \
  -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::invalid_cursor,
     R"(# Begin without a cursor; then pass on next_cursor with the same filters and order
curl -sS "$LATCHKEY_URL/api/v1/posts?status=draft" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::duplicate_credentials, first_request},
    {problem::idempotency_key_invalid, safe_retry},
    {problem::key_missing, first_request},
    {problem::key_invalid,
     R"(# A key has 48 letters and digits: no quotes, no space, no line end
printf %s "$LATCHKEY_KEY" | wc -c)"},
    {problem::session_invalid,
     R"(# A session begins with a key
curl -sS -X POST "$LATCHKEY_URL/api/v1/session" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::signature_invalid,
     R"(# Sign the bytes that are sent, here in GitHub's format
signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$secret" | sed 's/.* //')
curl -sS "$LATCHKEY_URL/api/v1/events/builds" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json "$body" -H "X-Hub-Signature-256: sha256=$signature")"},
    {problem::token_expired, token_claims},
    {problem::token_invalid, token_claims},
    {problem::token_not_yet_valid, token_claims},
    {problem::key_deactivated, new_key},
    {problem::key_expired,
     R"(# Before it expires: both keys work for a day
curl -sS "$LATCHKEY_URL/api/v1/keys/3/rotate" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json '{"overlap_seconds": 86400}')"},
    {problem::key_not_yet_active,
     R"(# The administrator reads when it begins
curl -sS "$LATCHKEY_URL/api/v1/keys/3" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::insufficient_scope,
     R"(# What the key may do; WWW-Authenticate of the refusal names what it lacks
curl -sS "$LATCHKEY_URL/api/v1/keys/current" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::ip_not_allowed,
     R"(# The administrator adds a network
curl -sS -X PATCH "$LATCHKEY_URL/api/v1/keys/3" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json '{"ip_allowlist": ["203.0.113.0/24", "198.51.100.0/24"]}')"},
    {problem::cross_site_request,
     R"(# A program sends a key
curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::https_required,
     R"(# LATCHKEY_URL begins with https://
curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::not_found,
     R"(# The list has all ids
curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::route_not_found,
     R"(# All paths
curl -sS "$LATCHKEY_URL/openapi.json")"},
    {problem::method_not_allowed,
     R"(# Allow names the methods
curl -sS -i -X OPTIONS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::not_acceptable,
     R"(curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY" \
  -H "Accept: application/json")"},
    {problem::request_timeout, safe_retry},
    {problem::email_taken,
     R"(# The user that has the address
curl -sS "$LATCHKEY_URL/api/v1/users?email=ada@example.com" \
  -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::invalid_state_transition,
     R"(# An archived post becomes a draft first
curl -sS -X PATCH "$LATCHKEY_URL/api/v1/posts/1" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json '{"status": "draft"}')"},
    {problem::idempotency_in_progress, safe_retry},
    {problem::rotation_in_progress,
     R"(# replaced_by names the successor
curl -sS "$LATCHKEY_URL/api/v1/keys/3" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::key_not_active,
     R"(curl -sS -X POST "$LATCHKEY_URL/api/v1/keys/3/reactivate" \
  -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::key_not_reactivatable, new_key},
    {problem::key_not_rotatable,
     R"(# Stops every token of its issuer and subject
curl -sS -X POST "$LATCHKEY_URL/api/v1/keys/3/deactivate" \
  -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::last_admin_key,
     R"(# Another key that can manage keys
curl -sS "$LATCHKEY_URL/api/v1/keys" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json '{"name": "administration", "scopes": ["keys:read", "keys:write"]}')"},
    {problem::subject_taken,
     R"(# Find the record, then change it
curl -sS "$LATCHKEY_URL/api/v1/keys?limit=100" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::webhook_disabled,
     R"(curl -sS -X POST "$LATCHKEY_URL/api/v1/webhooks/1/enable" \
  -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::changes_expired,
     R"(# Where the changes end now; then read the records anew, then follow from there
curl -sS "$LATCHKEY_URL/api/v1/changes?after=latest" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::precondition_failed, conditional_change},
    {problem::body_too_large,
     R"(# The key in a header: then a body may be larger than 128 KiB
curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json @body.json)"},
    {problem::uri_too_long,
     R"(curl -sS "$LATCHKEY_URL/api/v1/posts?status=draft" \
  -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::unsupported_media_type, valid_user},
    {problem::expectation_failed,
     R"(# An empty field removes it from what curl sends
curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY" -H "Expect:" \
  --json @body.json)"},
    {problem::validation_failed, valid_user},
    {problem::idempotency_key_reused,
     R"sh(# A new value for each operation
curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY" \
  -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \
  --json '{"name": "Alan Turing", "email": "alan@example.com"}')sh"},
    {problem::precondition_required, conditional_change},
    {problem::rate_limited, waiting},
    {problem::too_many_auth_failures,
     R"(# Correct the key first, then wait as long as Retry-After says
curl -sS --retry 2 "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::headers_too_large, first_request},
    {problem::internal_error,
     R"(# A request id of your own is in the answer and in the logs of the service
curl -sS "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY" \
  -H "X-Request-Id: report-2026-01-02")"},
    {problem::method_not_implemented,
     R"(curl -sS -X PATCH "$LATCHKEY_URL/api/v1/users/1" -H "Authorization: Bearer $LATCHKEY_KEY" \
  --json '{"name": "Ada King"}')"},
    {problem::overloaded, waiting},
    {problem::store_busy, safe_retry},
    {problem::behind, safe_retry},
    {problem::draining, safe_retry},
    {problem::http_version_not_supported,
     R"(curl -sS --http1.1 "$LATCHKEY_URL/api/v1/users" -H "Authorization: Bearer $LATCHKEY_KEY")"},
    {problem::storage_full, deletion},
};

}  // namespace

std::string_view remedy_for(problem code) {
    for (auto const& each : remedies)
        if (each.code == code) return each.text;
    return {};
}

}  // namespace latchkey::api
