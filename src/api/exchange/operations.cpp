#include "api/frame/operation.hpp"

namespace latchkey::api::operations {

using enum success;
using enum base::problem;

// ---- users

constexpr operation list_users{.id = "listUsers",
                               .group = "Users",
                               .summary = "List users",
                               .result = list,
                               .response_schema = "UserList",
                               .query = {"email"}};
constexpr operation create_user{.id = "createUser",
                                .group = "Users",
                                .summary = "Create a user",
                                .result = created,
                                .response_schema = "User",
                                .request_schema = "NewUser",
                                .problems = {email_taken}};
constexpr operation get_user{
    .id = "getUser",
    .group = "Users",
    .summary = "Get a user",
    .result = resource,
    .response_schema = "UserWithPosts",
    .query = {"include"},
    .description =
        "With `include=posts` the answer has the user's first 100 posts too, needs the "
        "scope `posts:read` and has no `ETag`. `posts_pagination.next_cursor` continues in "
        "`/api/v1/users/{id}/posts?limit=100`."};
constexpr operation replace_user{.id = "replaceUser",
                                 .group = "Users",
                                 .summary = "Replace a user",
                                 .result = done,
                                 .response_schema = "User",
                                 .request_schema = "UserReplacement",
                                 .problems = {email_taken}};
constexpr operation patch_user{.id = "updateUser",
                               .group = "Users",
                               .summary = "Change members of a user",
                               .result = done,
                               .response_schema = "User",
                               .request_schema = "UserPatch",
                               .problems = {email_taken},
                               .description = "A JSON merge patch (RFC 7396)."};
constexpr operation delete_user{.id = "deleteUser",
                                .group = "Users",
                                .summary = "Delete a user and its posts",
                                .result = deleted};
constexpr operation list_posts_of_user{.id = "listPostsOfUser",
                                       .group = "Users",
                                       .summary = "List the posts of a user",
                                       .result = list,
                                       .response_schema = "PostList",
                                       .description = "Needs the scope `posts:read` too."};

// ---- posts

constexpr operation list_posts{
    .id = "listPosts",
    .group = "Posts",
    .summary = "List posts",
    .result = list,
    .response_schema = "PostList",
    .query = {"author", "user_id", "status"},
    .description =
        "The filters combine. `author` and `user_id` mean the same; two different values "
        "are `conflicting_parameters`. An unknown user has an empty list."};
constexpr operation create_post{.id = "createPost",
                                .group = "Posts",
                                .summary = "Create a post",
                                .result = created,
                                .response_schema = "Post",
                                .request_schema = "NewPost"};
constexpr operation get_post{.id = "getPost",
                             .group = "Posts",
                             .summary = "Get a post",
                             .result = resource,
                             .response_schema = "Post"};
constexpr operation replace_post{.id = "replacePost",
                                 .group = "Posts",
                                 .summary = "Replace a post",
                                 .result = done,
                                 .response_schema = "Post",
                                 .request_schema = "PostReplacement",
                                 .problems = {invalid_state_transition}};
constexpr operation patch_post{
    .id = "updatePost",
    .group = "Posts",
    .summary = "Change members of a post",
    .result = done,
    .response_schema = "Post",
    .request_schema = "PostPatch",
    .problems = {invalid_state_transition},
    .description =
        "A JSON merge patch (RFC 7396). A draft can be published or archived, a published "
        "post drafted or archived, an archived one drafted."};
constexpr operation delete_post{
    .id = "deletePost", .group = "Posts", .summary = "Delete a post", .result = deleted};

// ---- keys

constexpr operation list_keys{
    .id = "listKeys",
    .group = "Keys",
    .summary = "List API keys",
    .result = list,
    .response_schema = "KeyList",
    .query = {"project", "state", "environment", "start", "unused_since"},
    .description = "A caller without the scope `*` sees the keys of its own project."};
constexpr operation create_key{
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
constexpr operation get_current_key{
    .id = "getCurrentKey",
    .group = "Keys",
    .summary = "Get the key of this request",
    .result = report,
    .response_schema = "CurrentKey",
    .description = "With the current state of its rate limits. Needs no scope."};
constexpr operation deactivate_current_key{.id = "deactivateCurrentKey",
                                           .group = "Keys",
                                           .summary = "Deactivate the key of this request",
                                           .result = done,
                                           .response_schema = "DeactivatedKey",
                                           .request_schema = "Deactivation?",
                                           .problems = {last_admin_key},
                                           .description = "Needs no scope.",
                                           .is_confirmed = true};
constexpr operation verify_key{
    .id = "verifyKey",
    .group = "Keys",
    .summary = "Validate a key for another service",
    .result = done,
    .response_schema = "Verdict",
    .request_schema = "Verification",
    .description =
        "Answers 200 whatever the key is; `code` tells how a request with it would be "
        "answered. A key with an allowlist needs `ip`. The key is charged `cost`, the caller 1."};
constexpr operation get_key{.id = "getKey",
                            .group = "Keys",
                            .summary = "Get the record of a key",
                            .result = resource,
                            .response_schema = "Key"};
constexpr operation patch_key{.id = "updateKey",
                              .group = "Keys",
                              .summary = "Change the settings of a key",
                              .result = done,
                              .response_schema = "Key",
                              .request_schema = "KeyPatch",
                              .problems = {last_admin_key},
                              .description = "A JSON merge patch (RFC 7396).",
                              .is_confirmed = true};
constexpr operation delete_key{.id = "deleteKey",
                               .group = "Keys",
                               .summary = "Deactivate a key",
                               .result = deleted,
                               .problems = {last_admin_key},
                               .description = "The record stays.",
                               .is_confirmed = true};
constexpr operation rotate_key{
    .id = "rotateKey",
    .group = "Keys",
    .summary = "Replace a key by a new one with the same settings",
    .result = created,
    .response_schema = "CreatedKey",
    .request_schema = "Rotation?",
    .problems = {rotation_in_progress, key_not_active, key_not_rotatable},
    .description = "The response shows the new key, once. Both keys work until the overlap ends.",
    .is_confirmed = true};
constexpr operation deactivate_key{.id = "deactivateKey",
                                   .group = "Keys",
                                   .summary = "Deactivate a key and give the reason",
                                   .result = done,
                                   .response_schema = "DeactivatedKey",
                                   .request_schema = "Deactivation?",
                                   .problems = {last_admin_key},
                                   .is_confirmed = true};
constexpr operation reactivate_key{
    .id = "reactivateKey",
    .group = "Keys",
    .summary = "Reactivate a key",
    .result = done,
    .response_schema = "Key",
    .request_schema = "Nothing?",
    .problems = {key_not_reactivatable},
    .description = "Not one that was deactivated as `compromised` or `rotated`."};

constexpr operation introspect_token{
    .id = "introspectToken",
    .group = "Keys",
    .summary = "Introspect a key or a token (RFC 7662)",
    .result = done,
    .response_schema = "Introspection",
    .request_schema = "IntrospectionRequest",
    .description = "Of someone else. The body is a form, or JSON; nothing is charged to that key."};

constexpr operation get_usage{
    .id = "getUsage",
    .group = "Keys",
    .summary = "Get the usage of a key",
    .result = report,
    .response_schema = "Usage",
    .query = {"from", "to", "granularity"},
    .description =
        "A point for every minute, hour or day from the one that contains `from` to the last that "
        "begins before `to`, at most 1440. Kept are 24 hours of minutes, 31 days of hours and 400 "
        "days; older points are left out. Requests are counted within 5 seconds."};

constexpr operation list_usage{
    .id = "listUsage",
    .group = "Keys",
    .summary = "Get the usage of many keys",
    .result = report,
    .response_schema = "UsageOfKeys",
    .query = {"key_id", "top", "from", "to", "granularity"},
    .problems = {conflicting_parameters},
    .description =
        "Of the keys that `key_id` names, or of the `top` busiest, and the sum: of those that are "
        "named, or of all keys that the caller sees. Keys that it does not see are left out. "
        "`complete` is false when there was more than one request reads; then ask for less time."};

// ---- sessions of browsers

constexpr operation start_session{
    .id = "startSession",
    .group = "Sessions",
    .summary = "Exchange a key for the session of a browser",
    .result = done,
    .response_schema = "Session",
    .description =
        "Sets the cookie `__Host-latchkey`, for one hour. With the cookie instead of a key it goes "
        "on, until 12 hours after it began. Needs no scope.",
    .sets_cookie = true};
constexpr operation end_session{.id = "endSession",
                                .group = "Sessions",
                                .summary = "Forget the session of this browser",
                                .result = deleted,
                                .description = "Removes the cookie. Needs no scope.",
                                .sets_cookie = true};
constexpr operation end_sessions{
    .id = "endSessions",
    .group = "Sessions",
    .summary = "End all sessions of the key of this request",
    .result = deleted,
    .description = "Log out everywhere: no cookie that was made before counts. Needs no scope.",
    .is_confirmed = true};
constexpr operation get_service{
    .id = "getService",
    .group = "Service",
    .summary = "How the whole service does",
    .result = report,
    .response_schema = "ServiceReport",
    .description =
        "Counters since this process started, and the nodes of a cluster as this one knows of "
        "them. `le` is in seconds; null: any duration."};

// ---- events

constexpr operation list_events{.id = "listEvents",
                                .group = "Events",
                                .summary = "List external events",
                                .result = list,
                                .response_schema = "EventList",
                                .query = {"source"}};
constexpr operation get_event{.id = "getEvent",
                              .group = "Events",
                              .summary = "Get an event",
                              .result = report,
                              .response_schema = "Event",
                              .problems = {not_found}};
constexpr operation receive_event{
    .id = "receiveEvent",
    .group = "Events",
    .summary = "Receive an event of an external service",
    .result = accepted,
    .response_schema = "EventReceipt",
    .request_schema = "EventPayload",
    .problems = {not_found, signature_invalid},
    .description =
        "If the source has a secret, the request must be signed with it. A delivery that is "
        "repeated within 24 hours gets the first response and is kept once. The scope "
        "`events:write:SOURCE` is enough for that source, and a key with no other scope may always "
        "come by query."};
constexpr operation list_event_sources{
    .id = "listEventSources",
    .group = "Events",
    .summary = "List the sources of events",
    .result = report,
    .response_schema = "EventSourceList",
    .query = {"after_source", "limit_sources"},
    .description = "Those that have a secret or events, in the order of their names."};
constexpr operation get_event_secret{.id = "getEventSecret",
                                     .group = "Events",
                                     .summary = "Get the signature settings of a source",
                                     .result = report,
                                     .response_schema = "EventSecret",
                                     .problems = {not_found}};
constexpr operation put_event_secret{
    .id = "putEventSecret",
    .group = "Events",
    .summary = "Set or replace the secret of a source",
    .result = created,
    .response_schema = "SetEventSecret",
    .request_schema = "NewEventSecret?",
    .problems = {not_found},
    .description = "From then on the events of the source must be signed.",
    .is_confirmed = true};
constexpr operation delete_event_secret{
    .id = "deleteEventSecret",
    .group = "Events",
    .summary = "Remove the secret of a source",
    .result = deleted,
    .problems = {not_found},
    .description = "From then on its events need no signature."};

// ---- webhooks

constexpr operation list_webhooks{
    .id = "listWebhooks",
    .group = "Webhooks",
    .summary = "List webhooks",
    .result = list,
    .response_schema = "WebhookList",
    .description = "A caller without the scope `*` sees the webhooks of its own project."};
constexpr operation create_webhook{
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
constexpr operation get_webhook{.id = "getWebhook",
                                .group = "Webhooks",
                                .summary = "Get a webhook",
                                .result = resource,
                                .response_schema = "Webhook"};
constexpr operation patch_webhook{
    .id = "updateWebhook",
    .group = "Webhooks",
    .summary = "Change the settings of a webhook",
    .result = done,
    .response_schema = "Webhook",
    .request_schema = "WebhookPatch",
    .description =
        "A JSON merge patch (RFC 7396). A header field that is sent back masked keeps "
        "its value. Needs the scope `changes:read` too."};
constexpr operation delete_webhook{.id = "deleteWebhook",
                                   .group = "Webhooks",
                                   .summary = "Delete a webhook",
                                   .result = deleted,
                                   .description = "What was not delivered is not."};
constexpr operation rotate_webhook_secret{
    .id = "rotateWebhookSecret",
    .group = "Webhooks",
    .summary = "Replace the secret of a webhook",
    .result = done,
    .response_schema = "CreatedWebhook",
    .request_schema = "Rotation?",
    .description =
        "The response shows the new secret, once. Both sign until the overlap ends; one that "
        "was replaced before it no longer does."};
constexpr operation enable_webhook{
    .id = "enableWebhook",
    .group = "Webhooks",
    .summary = "Enable a webhook again",
    .result = done,
    .response_schema = "Webhook",
    .request_schema = "Nothing?",
    .description =
        "It goes on where it stopped, as far as changes are kept. Needs the scope "
        "`changes:read` too."};
constexpr operation test_webhook{
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
constexpr operation list_deliveries{
    .id = "listDeliveries",
    .group = "Webhooks",
    .summary = "List the deliveries of a webhook",
    .result = report,
    .response_schema = "DeliveryList",
    .query = {"before", "limit", "delivery_state"},
    .description =
        "Newest first; kept as long as their changes. A page may have fewer than "
        "`limit`: go on with `next_before` until `has_more` is false."};
constexpr operation replay_webhook{
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

// ---- the rest

constexpr operation list_audit{
    .id = "listAudit",
    .group = "Audit",
    .summary = "List the changes of keys and secrets",
    .result = list,
    .response_schema = "AuditList",
    .query = {"project"},
    .description =
        "A caller without the scope `*` sees the entries of its own project and, if it may read "
        "events or manage their secrets, those about secrets, which belong to no project."};
constexpr operation list_changes{
    .id = "listChanges",
    .group = "Changes",
    .summary = "List what has happened, or follow it as a stream",
    .result = report,
    .response_schema = "ChangeList",
    .query = {"after", "limit_changes", "type"},
    .problems = {changes_expired, not_found},
    .description =
        "In order, each change once. A page may have fewer changes than `limit`, or none: go on "
        "with `next_after` until `has_more` is false. Accepted as `text/event-stream` the same "
        "changes come as Server-Sent Events that do not end: `id` is the sequence, `event` the "
        "type, `data` the change; `Last-Event-ID` takes the place of `after`. A caller without "
        "the scope `*` sees of keys and webhooks only those of its own project."};
constexpr operation authorize{
    .id = "authorize",
    .group = "Gateway",
    .summary = "Authorize a request for a gateway",
    .result = gateway,
    .query = {"scope", "limit_status"},
    .description =
        "For nginx `auth_request`, `forward_auth` of Caddy and Traefik, Envoy `ext_authz`. "
        "Any method, with the client's header fields passed on; the body, `Accept`, "
        "`Content-Type`, `Expect` and preconditions are ignored."};
constexpr operation get_health{.id = "getHealth",
                               .group = "Service",
                               .summary = "Check that the service answers",
                               .result = health,
                               .response_schema = "Health"};
constexpr operation get_openapi{.id = "getOpenApi",
                                .group = "Service",
                                .summary = "This description, as JSON",
                                .result = document,
                                .response_schema = "OpenApi"};
constexpr operation get_docs{.id = "getDocs",
                             .group = "Service",
                             .summary = "This description and guides, as HTML pages",
                             .result = document};
constexpr operation list_problems{.id = "listProblems",
                                  .group = "Service",
                                  .summary = "All codes of problems, as an HTML page",
                                  .result = document};
constexpr operation get_problem{.id = "getProblem",
                                .group = "Service",
                                .summary = "What a code means and what to do, as an HTML page",
                                .result = document};

// ---- parts of pages, which OpenAPI leaves out

constexpr operation get_docs_page{.id = "getDocsPage",
                                  .group = "Service",
                                  .summary = "A guide, or the operations of a group",
                                  .result = document};

constexpr operation get_root{.id = "getRoot",
                             .group = "Service",
                             .summary = "Leads a browser to the documents",
                             .result = document};
constexpr operation get_icon{
    .id = "getIcon", .group = "Service", .summary = "The icon of the pages", .result = document};
constexpr operation get_asset{
    .id = "getAsset", .group = "Service", .summary = "A file of the pages", .result = document};
constexpr operation get_protected_resource{
    .id = "getProtectedResource", .group = "Service", .summary = "RFC 9728", .result = document};
constexpr operation get_console{
    .id = "getConsole", .group = "Service", .summary = "The console", .result = document};

}  // namespace latchkey::api::operations
