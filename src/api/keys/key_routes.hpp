// Routes of keys (api.md §4): the handlers, the operations that describe them, and the rows of the
// table. Constants; any thread.
#pragma once

#include "api/frame/record_kind.hpp"
#include "api/frame/resource.hpp"
#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"
#include "api/keys/key_json.hpp"

namespace latchkey::api {

std::optional<api_error> list_keys(request_context const&, domain::snapshot const&,
                                   http::response&);
std::optional<api_error> get_key(request_context const&, domain::snapshot const&, http::response&);
std::optional<api_error> get_current_key(request_context const&, domain::snapshot const&,
                                         http::response&);
api_result<domain::command> plan_create_key(request_context const&);
api_result<domain::command> plan_patch_key(request_context const&);
api_result<domain::command> plan_delete_key(request_context const&);
api_result<domain::command> plan_rotate_key(request_context const&);
api_result<domain::command> plan_deactivate_key(request_context const&);
api_result<domain::command> plan_deactivate_current_key(request_context const&);
api_result<domain::command> plan_reactivate_key(request_context const&);
void answer_key(settings const&, domain::outcome const&, http::response&);
void answer_key_deactivated(settings const&, domain::outcome const&, http::response&);
void answer_key_made(settings const&, domain::outcome const&, std::string_view key,
                     http::response&);
std::optional<api_error> verify_key(request_context const&, request_services&, http::response&);
std::optional<api_error> introspect_token(request_context const&, request_services&,
                                          http::response&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation list_keys{
    .id = "listKeys",
    .group = "Keys",
    .summary = "List API keys",
    .result = list,
    .response_schema = "KeyList",
    .query = {"project", "state", "environment", "start", "unused_since", "search_keys"},
    .description = "A caller without the scope `*` sees the keys of its own project."};
inline constexpr operation create_key{
    .id = "createKey",
    .group = "Keys",
    .summary = "Create an API key",
    .result = created,
    .response_schema = "CreatedKey",
    .request_schema = "NewKey",
    .problems = {insufficient_scope, subject_taken},
    .description =
        "The response shows the key, once. A caller cannot grant scopes, limits, allowlists or a "
        "lifetime beyond its own. A record of kind `jwt` has no key: its bearers show tokens."};
inline constexpr operation get_current_key{
    .id = "getCurrentKey",
    .group = "Keys",
    .summary = "Get the key of this request",
    .result = report,
    .response_schema = "CurrentKey",
    .description = "With the current state of its rate limits. Needs no scope."};
inline constexpr operation deactivate_current_key{.id = "deactivateCurrentKey",
                                                  .group = "Keys",
                                                  .summary = "Deactivate the key of this request",
                                                  .result = done,
                                                  .response_schema = "DeactivatedKey",
                                                  .request_schema = "Deactivation?",
                                                  .problems = {last_admin_key},
                                                  .description = "Needs no scope.",
                                                  .is_confirmed = true};
inline constexpr operation verify_key{
    .id = "verifyKey",
    .group = "Keys",
    .summary = "Verify a key for another service",
    .result = done,
    .response_schema = "Verdict",
    .request_schema = "Verification",
    .description =
        "Answers 200 whatever the key is; `code` tells how a request with it would be "
        "answered. A key with an allowlist needs `ip`. The key is charged `cost`, the caller 1. A "
        "key of another project is `NOT_FOUND`, unless the caller has `keys:verify_all` or `*`."};
inline constexpr operation introspect_token{
    .id = "introspectToken",
    .group = "Keys",
    .summary = "Introspect a key or a token (RFC 7662)",
    .result = done,
    .response_schema = "Introspection",
    .request_schema = "IntrospectionRequest",
    .description =
        "Of someone else. The body is a form, or JSON; nothing is charged to that key. One of "
        "another project is not active, unless the caller has `keys:verify_all` or `*`."};
inline constexpr operation get_key{.id = "getKey",
                                   .group = "Keys",
                                   .summary = "Get the record of a key",
                                   .result = resource,
                                   .response_schema = "Key"};
inline constexpr operation patch_key{.id = "updateKey",
                                     .group = "Keys",
                                     .summary = "Change the settings of a key",
                                     .result = done,
                                     .response_schema = "Key",
                                     .request_schema = "KeyPatch",
                                     .problems = {last_admin_key},
                                     .description = "A JSON merge patch (RFC 7396).",
                                     .is_confirmed = true};
inline constexpr operation delete_key{.id = "deleteKey",
                                      .group = "Keys",
                                      .summary = "Deactivate a key",
                                      .result = deleted,
                                      .problems = {last_admin_key},
                                      .description = "The record stays.",
                                      .is_confirmed = true};
inline constexpr operation rotate_key{
    .id = "rotateKey",
    .group = "Keys",
    .summary = "Replace a key by a new one with the same settings",
    .result = created,
    .response_schema = "CreatedKey",
    .request_schema = "Rotation?",
    .problems = {rotation_in_progress, key_not_active, key_not_rotatable},
    .description = "The response shows the new key, once. Both keys work until the overlap ends.",
    .is_confirmed = true};
inline constexpr operation deactivate_key{.id = "deactivateKey",
                                          .group = "Keys",
                                          .summary = "Deactivate a key and give the reason",
                                          .result = done,
                                          .response_schema = "DeactivatedKey",
                                          .request_schema = "Deactivation?",
                                          .problems = {last_admin_key},
                                          .is_confirmed = true};
inline constexpr operation reactivate_key{
    .id = "reactivateKey",
    .group = "Keys",
    .summary = "Reactivate a key",
    .result = done,
    .response_schema = "Key",
    .request_schema = "Nothing?",
    .problems = {key_not_reactivatable},
    .description = "Not one that was deactivated as `compromised` or `rotated`."};

}  // namespace operations

inline constexpr route key_routes[] = {
    {http::method::get, "/api/v1/keys", operations::list_keys, model::scope::keys_read,
     read{list_keys}},
    {http::method::post, "/api/v1/keys", operations::create_key, model::scope::keys_write,
     write{plan_create_key, nullptr, true, answer_key_made}},
    {http::method::get, "/api/v1/keys/current", operations::get_current_key, std::nullopt,
     read{get_current_key}},
    {http::method::post, "/api/v1/keys/current/deactivate", operations::deactivate_current_key,
     std::nullopt, write{plan_deactivate_current_key, answer_key_deactivated}},
    {http::method::post, "/api/v1/keys/verify", operations::verify_key, model::scope::keys_verify,
     action{verify_key}},
    {http::method::post, "/api/v1/introspect", operations::introspect_token,
     model::scope::keys_verify, action{introspect_token, true}},
    {http::method::get, "/api/v1/keys/{id}", operations::get_key, model::scope::keys_read,
     read{get_key}},
    {http::method::patch, "/api/v1/keys/{id}", operations::patch_key, model::scope::keys_write,
     write{plan_patch_key, answer_key}},
    {http::method::delete_, "/api/v1/keys/{id}", operations::delete_key, model::scope::keys_write,
     write{plan_delete_key, answer_deleted, false}},
    {http::method::post, "/api/v1/keys/{id}/rotate", operations::rotate_key,
     model::scope::keys_write, write{plan_rotate_key, nullptr, true, answer_key_made}},
    {http::method::post, "/api/v1/keys/{id}/deactivate", operations::deactivate_key,
     model::scope::keys_write, write{plan_deactivate_key, answer_key_deactivated}},
    {http::method::post, "/api/v1/keys/{id}/reactivate", operations::reactivate_key,
     model::scope::keys_write, write{plan_reactivate_key, answer_key}},
};

inline constexpr operation_group key_group{"Keys", "API keys: shown once, kept as hashes."};

inline constexpr sent_change key_changes[] = {
    {model::change_type::key_created, "A key was created", true, R"({"last_used_at": null})"},
    {model::change_type::key_updated, "The settings of a key were changed"},
    {model::change_type::key_rotated, "A key got a successor", true,
     R"({"replaced_by": 4, "rotation_ends_at": "2026-01-05T03:04:05.678Z"})"},
    {model::change_type::key_deactivated,
     "A key was deactivated, or the overlap of its rotation ended", true,
     R"({"state": "deactivated", "deactivated_at": "2026-01-04T03:04:05.678Z",
         "deactivation_reason": "manual"})"},
    {model::change_type::key_reactivated, "A key was activated again"},
    {model::change_type::key_activated, "The `not_before` of a key has passed", false,
     R"({"not_before": "2026-01-04T03:04:05.000Z"})"},
    {model::change_type::key_expiring, "A key will expire in some days", false,
     R"({"expires_at": "2026-01-05T03:04:05.678Z"})"},
    {model::change_type::key_expired, "A key has expired", false,
     R"({"state": "expired", "expires_at": "2026-01-04T03:04:05.678Z"})"},
    {model::change_type::key_limited, "Requests of a key were refused by its limits", false},
    {model::change_type::key_exposed, "A key was sent where others may see it", false},
    {model::change_type::key_unused, "A key was not used for a long time", false,
     R"({"last_used_at": null})"},
};
inline constexpr record_kind key_records{
    .schema = "KeyChange", .record = "Key", .append = append_changed_key, .changes = key_changes};

namespace schema {

object key_schemas();
std::span<parameter const> key_parameters();

}  // namespace schema

}  // namespace latchkey::api
