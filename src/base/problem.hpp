// The errors of the contract (api.md §11): every code that a client can get, with its status and
// title. Layers report an error by its code; only api/frame/problem_document.cpp renders the
// document.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace latchkey::base {

enum class problem : std::uint8_t {
    none,
    malformed_request,
    invalid_json,
    invalid_parameter,
    conflicting_parameters,
    invalid_cursor,
    duplicate_credentials,
    idempotency_key_invalid,
    key_missing,
    key_invalid,
    session_invalid,
    signature_invalid,
    token_expired,
    token_invalid,
    token_not_yet_valid,
    key_deactivated,
    key_expired,
    key_not_yet_active,
    insufficient_scope,
    ip_not_allowed,
    cross_site_request,
    https_required,
    not_found,
    route_not_found,
    method_not_allowed,
    not_acceptable,
    request_timeout,
    email_taken,
    invalid_state_transition,
    idempotency_in_progress,
    rotation_in_progress,
    key_not_active,
    key_not_reactivatable,
    key_not_rotatable,
    last_admin_key,
    subject_taken,
    webhook_disabled,
    changes_expired,
    precondition_failed,
    body_too_large,
    uri_too_long,
    unsupported_media_type,
    expectation_failed,
    validation_failed,
    idempotency_key_reused,
    precondition_required,
    rate_limited,
    too_many_auth_failures,
    headers_too_large,
    internal_error,
    method_not_implemented,
    overloaded,
    store_busy,
    behind,
    draining,
    http_version_not_supported,
    storage_full,
    count_
};

struct problem_entry {
    problem code;
    std::uint16_t status;
    std::string_view name;   // the stable `code` of the contract
    std::string_view title;  // one short sentence, the same for every occurrence
};

// By code; `problem::none` is the first entry.
extern std::array<problem_entry, static_cast<std::size_t>(problem::count_)> const problems;

inline problem_entry const& describe(problem code) {
    return problems[static_cast<std::size_t>(code)];
}

// Field codes: what can be wrong with one member of a body (api.md §11).
enum class field_code : std::uint8_t {
    required,
    invalid_type,
    too_short,
    too_long,
    invalid_format,
    out_of_range,
    not_in_enum,
    unknown_field,
    read_only_field,
    null_not_allowed,
    reference_not_found,
    not_unique,
};
std::string_view name_of(field_code code);

// One entry of `errors`. `location` is, by `kind`, a JSON pointer (RFC 6901) into the body, the
// name of a query parameter or the name of a header field. The detail is a sentence that does not
// repeat the client's value.
struct fault {
    enum class location_kind : std::uint8_t { pointer, parameter, header };
    location_kind kind = location_kind::pointer;
    std::string location;
    field_code code = field_code::required;
    std::string detail;
};

}  // namespace latchkey::base
