#include "base/problem.hpp"

namespace latchkey::base {

using enum problem;

std::array<problem_entry, static_cast<std::size_t>(problem::count_)> const problems{{
    {none, 200, "", ""},
    {malformed_request, 400, "malformed_request", "The request is not well-formed HTTP"},
    {invalid_json, 400, "invalid_json", "The body is not valid JSON"},
    {invalid_parameter, 400, "invalid_parameter", "A query parameter is not valid"},
    {conflicting_parameters, 400, "conflicting_parameters",
     "Query parameters contradict each other"},
    {invalid_cursor, 400, "invalid_cursor", "The cursor is not valid for this list"},
    {duplicate_credentials, 400, "duplicate_credentials", "The API key was sent more than once"},
    {idempotency_key_invalid, 400, "idempotency_key_invalid", "The Idempotency-Key is not valid"},
    {key_missing, 401, "key_missing", "An API key is required"},
    {key_invalid, 401, "key_invalid", "The API key is not known"},
    {session_invalid, 401, "session_invalid", "The session has ended"},
    {signature_invalid, 401, "signature_invalid", "The signature of the event is not valid"},
    {token_expired, 401, "token_expired", "The token has expired"},
    {token_invalid, 401, "token_invalid", "The token is not valid"},
    {token_not_yet_valid, 401, "token_not_yet_valid", "The token is not valid yet"},
    {key_deactivated, 403, "key_deactivated", "The API key is deactivated"},
    {key_expired, 403, "key_expired", "The API key has expired"},
    {key_not_yet_active, 403, "key_not_yet_active", "The API key is not active yet"},
    {insufficient_scope, 403, "insufficient_scope", "The API key lacks a scope for this"},
    {ip_not_allowed, 403, "ip_not_allowed", "The API key may not be used from this address"},
    {cross_site_request, 403, "cross_site_request",
     "The session may be used by its own pages only"},
    {https_required, 403, "https_required", "HTTPS is required"},
    {not_found, 404, "not_found", "There is no such resource"},
    {route_not_found, 404, "route_not_found", "There is no such path"},
    {method_not_allowed, 405, "method_not_allowed", "The path does not answer this method"},
    {not_acceptable, 406, "not_acceptable", "The service answers in JSON only"},
    {request_timeout, 408, "request_timeout", "The request did not arrive in time"},
    {email_taken, 409, "email_taken", "Another user has this email address"},
    {invalid_state_transition, 409, "invalid_state_transition",
     "The status cannot change this way"},
    {idempotency_in_progress, 409, "idempotency_in_progress", "The first request is still running"},
    {rotation_in_progress, 409, "rotation_in_progress", "The API key is being rotated already"},
    {key_not_active, 409, "key_not_active", "The API key is not active"},
    {key_not_reactivatable, 409, "key_not_reactivatable", "The API key cannot be reactivated"},
    {key_not_rotatable, 409, "key_not_rotatable", "There is no secret that could be rotated"},
    {last_admin_key, 409, "last_admin_key", "This is the last active key that can manage keys"},
    {subject_taken, 409, "subject_taken", "Another key record has this issuer and subject"},
    {webhook_disabled, 409, "webhook_disabled", "The webhook is disabled"},
    {changes_expired, 410, "changes_expired", "The changes are not kept any more"},
    {precondition_failed, 412, "precondition_failed", "The resource has changed"},
    {body_too_large, 413, "body_too_large", "The body is too large"},
    {uri_too_long, 414, "uri_too_long", "The request line is too long"},
    {unsupported_media_type, 415, "unsupported_media_type",
     "The body is not of a supported media type"},
    {expectation_failed, 417, "expectation_failed", "The expectation cannot be met"},
    {validation_failed, 422, "validation_failed", "Members of the body are not valid"},
    {idempotency_key_reused, 422, "idempotency_key_reused",
     "The Idempotency-Key belongs to another request"},
    {precondition_required, 428, "precondition_required", "An If-Match header is required"},
    {rate_limited, 429, "rate_limited", "A rate limit of the API key is used up"},
    {too_many_auth_failures, 429, "too_many_auth_failures",
     "Too many unknown API keys from this address"},
    {headers_too_large, 431, "headers_too_large", "The header section is too large"},
    {internal_error, 500, "internal_error", "Something went wrong on our side"},
    {method_not_implemented, 501, "method_not_implemented", "The method is not known"},
    {overloaded, 503, "overloaded", "The service is overloaded"},
    {store_busy, 503, "store_busy", "Another process keeps the store from being written"},
    {behind, 503, "behind", "This node is behind the cluster"},
    {draining, 503, "draining", "The service is stopping"},
    {http_version_not_supported, 505, "http_version_not_supported",
     "Only HTTP/1.1 and HTTP/1.0 are spoken"},
    {storage_full, 507, "storage_full", "The store is full"},
}};

std::string_view name_of(field_code code) {
    static constexpr std::string_view names[] = {
        "required",        "invalid_type",     "too_short",           "too_long",
        "invalid_format",  "out_of_range",     "not_in_enum",         "unknown_field",
        "read_only_field", "null_not_allowed", "reference_not_found", "not_unique"};
    return names[static_cast<std::size_t>(code)];
}

}  // namespace latchkey::base
