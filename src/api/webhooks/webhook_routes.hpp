// Routes of webhooks (api.md §17): the handlers, the operations that describe them, and the rows
// of the table. Constants; any thread.
#pragma once

#include "api/frame/record_kind.hpp"
#include "api/frame/resource.hpp"
#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"
#include "api/webhooks/webhook_json.hpp"

namespace latchkey::api {

bool sees_webhook(request_context const&, model::webhook const& webhook);
std::optional<api_error> list_webhooks(request_context const&, domain::snapshot const&,
                                       http::response&);
std::optional<api_error> get_webhook(request_context const&, domain::snapshot const&,
                                     http::response&);
std::optional<api_error> list_deliveries(request_context const&, domain::snapshot const&,
                                         http::response&);
api_result<domain::command> plan_create_webhook(request_context const&);
api_result<domain::command> plan_patch_webhook(request_context const&);
api_result<domain::command> plan_delete_webhook(request_context const&);
api_result<domain::command> plan_rotate_webhook_secret(request_context const&);
api_result<domain::command> plan_enable_webhook(request_context const&);
api_result<domain::command> plan_test_webhook(request_context const&);
api_result<domain::command> plan_replay_webhook(request_context const&);
void answer_webhook(settings const&, domain::outcome const&, http::response&);
void answer_webhook_created(settings const&, domain::outcome const&, http::response&);
void answer_webhook_rotated(settings const&, domain::outcome const&, http::response&);
void answer_webhook_tested(settings const&, domain::outcome const&, http::response&);
void answer_webhook_replayed(settings const&, domain::outcome const&, http::response&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation list_webhooks{
    .id = "listWebhooks",
    .group = "Webhooks",
    .summary = "List webhooks",
    .result = list,
    .response_schema = "WebhookList",
    .description = "A caller without the scope `*` sees the webhooks of its own project."};
inline constexpr operation create_webhook{
    .id = "createWebhook",
    .group = "Webhooks",
    .summary = "Create a webhook",
    .result = created,
    .response_schema = "CreatedWebhook",
    .request_schema = "NewWebhook",
    .problems = {not_found},
    .description =
        "The response shows the secret, once. It is sent the changes after its creation, in the "
        "form of Standard Webhooks. Needs the scope `changes:read` too."};
inline constexpr operation get_webhook{.id = "getWebhook",
                                       .group = "Webhooks",
                                       .summary = "Get a webhook",
                                       .result = resource,
                                       .response_schema = "Webhook"};
inline constexpr operation patch_webhook{
    .id = "updateWebhook",
    .group = "Webhooks",
    .summary = "Change the settings of a webhook",
    .result = done,
    .response_schema = "Webhook",
    .request_schema = "WebhookPatch",
    .description =
        "A JSON merge patch (RFC 7396). A header field that is sent back masked keeps "
        "its value. Needs the scope `changes:read` too."};
inline constexpr operation delete_webhook{.id = "deleteWebhook",
                                          .group = "Webhooks",
                                          .summary = "Delete a webhook",
                                          .result = deleted,
                                          .description = "What was not delivered is not."};
inline constexpr operation rotate_webhook_secret{
    .id = "rotateWebhookSecret",
    .group = "Webhooks",
    .summary = "Replace the secret of a webhook",
    .result = done,
    .response_schema = "CreatedWebhook",
    .request_schema = "Rotation?",
    .description =
        "The response shows the new secret, once. Both sign until the overlap ends; one that "
        "was replaced before it no longer does."};
inline constexpr operation enable_webhook{
    .id = "enableWebhook",
    .group = "Webhooks",
    .summary = "Enable a webhook again",
    .result = done,
    .response_schema = "Webhook",
    .request_schema = "Nothing?",
    .description =
        "It goes on where it stopped, as far as changes are kept. Needs the scope "
        "`changes:read` too."};
inline constexpr operation test_webhook{
    .id = "testWebhook",
    .group = "Webhooks",
    .summary = "Send a test to a webhook",
    .result = accepted,
    .response_schema = "WebhookChange",
    .request_schema = "Nothing?",
    .problems = {webhook_disabled},
    .description =
        "Answers with the change `webhook.test`, which goes to this webhook alone "
        "whatever its types. Once it is delivered, what waits for a further attempt is tried."};
inline constexpr operation list_deliveries{
    .id = "listDeliveries",
    .group = "Webhooks",
    .summary = "List the deliveries of a webhook",
    .result = report,
    .response_schema = "DeliveryList",
    .query = {"before", "limit", "delivery_state"},
    .description =
        "Newest first; kept as long as their changes. A page may have fewer than "
        "`limit`: go on with `next_before` until `has_more` is false."};
inline constexpr operation replay_webhook{
    .id = "replayWebhook",
    .group = "Webhooks",
    .summary = "Send changes to a webhook again",
    .result = accepted,
    .response_schema = "ReplayRange",
    .request_schema = "Replay",
    .problems = {webhook_disabled, changes_expired},
    .description =
        "Those of the range that the types of the webhook have, under the same `webhook-id`. At "
        "most 100 ranges wait (503 `overloaded`)."};

}  // namespace operations

inline constexpr route webhook_routes[] = {
    {http::method::get, "/api/v1/webhooks", operations::list_webhooks, model::scope::webhooks_read,
     read{list_webhooks}},
    {http::method::post, "/api/v1/webhooks", operations::create_webhook,
     model::scope::webhooks_write,
     write{.plan = plan_create_webhook,
           .answer = answer_webhook_created,
           .further_scope = model::scope::changes_read}},
    {http::method::get, "/api/v1/webhooks/{id}", operations::get_webhook,
     model::scope::webhooks_read, read{get_webhook}},
    {http::method::patch, "/api/v1/webhooks/{id}", operations::patch_webhook,
     model::scope::webhooks_write,
     write{.plan = plan_patch_webhook,
           .answer = answer_webhook,
           .further_scope = model::scope::changes_read}},
    {http::method::delete_, "/api/v1/webhooks/{id}", operations::delete_webhook,
     model::scope::webhooks_write, write{plan_delete_webhook, answer_deleted, false}},
    {http::method::post, "/api/v1/webhooks/{id}/rotate-secret", operations::rotate_webhook_secret,
     model::scope::webhooks_write, write{plan_rotate_webhook_secret, answer_webhook_rotated}},
    {http::method::post, "/api/v1/webhooks/{id}/enable", operations::enable_webhook,
     model::scope::webhooks_write,
     write{.plan = plan_enable_webhook,
           .answer = answer_webhook,
           .further_scope = model::scope::changes_read}},
    {http::method::post, "/api/v1/webhooks/{id}/test", operations::test_webhook,
     model::scope::webhooks_write, write{plan_test_webhook, answer_webhook_tested}},
    {http::method::get, "/api/v1/webhooks/{id}/deliveries", operations::list_deliveries,
     model::scope::webhooks_read, read{list_deliveries}},
    {http::method::post, "/api/v1/webhooks/{id}/replay", operations::replay_webhook,
     model::scope::webhooks_write, write{plan_replay_webhook, answer_webhook_replayed}},
};

inline constexpr operation_group webhook_group{"Webhooks", "URLs to which changes are sent."};

inline constexpr sent_change webhook_changes[] = {
    {model::change_type::webhook_disabled, "The webhook was disabled by the service", false,
     R"({"enabled": false, "disabled_at": "2026-01-04T03:04:05.678Z", "disabled_reason": "gone"})"},
    {model::change_type::webhook_test, "A test that was asked for"},
};
inline constexpr record_kind webhook_records{.schema = "WebhookChange",
                                             .record = "Webhook",
                                             .append = append_changed_webhook,
                                             .changes = webhook_changes};

namespace schema {

object webhook_schemas();
std::span<parameter const> webhook_parameters();

}  // namespace schema

}  // namespace latchkey::api
