#include "api/operation.hpp"

namespace latchkey::api::operations {

using enum success;
using enum base::problem;

// ---- users

constexpr operation list_users{.id = "listUsers",
                               .group = "Users",
                               .summary = "List users",
                               .answers = list,
                               .shows = "UserList",
                               .query = {"email"}};
constexpr operation create_user{.id = "createUser",
                                .group = "Users",
                                .summary = "Create a user",
                                .answers = created,
                                .shows = "User",
                                .takes = "NewUser",
                                .problems = {email_taken}};
constexpr operation get_user{
    .id = "getUser",
    .group = "Users",
    .summary = "Get a user",
    .answers = resource,
    .shows = "UserWithPosts",
    .query = {"include"},
    .details =
        "With `include=posts` the answer has the user's first 100 posts too, needs the "
        "scope `posts:read` and has no `ETag`. `posts_pagination.next_cursor` goes on in "
        "`/api/v1/users/{id}/posts?limit=100`."};
constexpr operation replace_user{.id = "replaceUser",
                                 .group = "Users",
                                 .summary = "Replace a user",
                                 .answers = done,
                                 .shows = "User",
                                 .takes = "UserReplacement",
                                 .problems = {email_taken}};
constexpr operation patch_user{.id = "updateUser",
                               .group = "Users",
                               .summary = "Change members of a user",
                               .answers = done,
                               .shows = "User",
                               .takes = "UserPatch",
                               .problems = {email_taken},
                               .details = "A JSON merge patch (RFC 7396)."};
constexpr operation delete_user{.id = "deleteUser",
                                .group = "Users",
                                .summary = "Delete a user and its posts",
                                .answers = deleted};
constexpr operation list_posts_of_user{.id = "listPostsOfUser",
                                       .group = "Users",
                                       .summary = "List the posts of a user",
                                       .answers = list,
                                       .shows = "PostList",
                                       .details = "Needs the scope `posts:read` too."};

// ---- posts

constexpr operation list_posts{
    .id = "listPosts",
    .group = "Posts",
    .summary = "List posts",
    .answers = list,
    .shows = "PostList",
    .query = {"author", "user_id", "status"},
    .details =
        "The filters combine. `author` and `user_id` mean the same; two different values "
        "are `conflicting_parameters`. An unknown user has an empty list."};
constexpr operation create_post{.id = "createPost",
                                .group = "Posts",
                                .summary = "Create a post",
                                .answers = created,
                                .shows = "Post",
                                .takes = "NewPost"};
constexpr operation get_post{.id = "getPost",
                             .group = "Posts",
                             .summary = "Get a post",
                             .answers = resource,
                             .shows = "Post"};
constexpr operation replace_post{.id = "replacePost",
                                 .group = "Posts",
                                 .summary = "Replace a post",
                                 .answers = done,
                                 .shows = "Post",
                                 .takes = "PostReplacement",
                                 .problems = {invalid_state_transition}};
constexpr operation patch_post{
    .id = "updatePost",
    .group = "Posts",
    .summary = "Change members of a post",
    .answers = done,
    .shows = "Post",
    .takes = "PostPatch",
    .problems = {invalid_state_transition},
    .details =
        "A JSON merge patch (RFC 7396). A draft can be published or archived, a published "
        "post drafted or archived, an archived one drafted."};
constexpr operation delete_post{
    .id = "deletePost", .group = "Posts", .summary = "Delete a post", .answers = deleted};

// ---- keys

constexpr operation list_keys{
    .id = "listKeys",
    .group = "Keys",
    .summary = "List API keys",
    .answers = list,
    .shows = "KeyList",
    .query = {"project", "state", "environment", "start", "unused_since"},
    .details = "A caller without the scope `*` sees the keys of its own project."};
constexpr operation create_key{
    .id = "createKey",
    .group = "Keys",
    .summary = "Create an API key",
    .answers = created,
    .shows = "CreatedKey",
    .takes = "NewKey",
    .problems = {insufficient_scope},
    .details =
        "The answer shows the key, once. A caller gives no scope, limit, allowlist or "
        "lifetime beyond its own."};
constexpr operation get_current_key{
    .id = "getCurrentKey",
    .group = "Keys",
    .summary = "Get the key that this request carries",
    .answers = report,
    .shows = "CurrentKey",
    .details = "With the live state of its rate limits. Any key will do."};
constexpr operation deactivate_current_key{.id = "deactivateCurrentKey",
                                           .group = "Keys",
                                           .summary = "Turn off the key that this request carries",
                                           .answers = done,
                                           .shows = "Key",
                                           .takes = "Deactivation?",
                                           .problems = {last_admin_key},
                                           .details = "Any key will do."};
constexpr operation verify_key{
    .id = "verifyKey",
    .group = "Keys",
    .summary = "Judge a key for another service",
    .answers = done,
    .shows = "Verdict",
    .takes = "Verification",
    .details =
        "Answers 200 whatever the key is; `code` says what a request with it would come "
        "to. A key with an allowlist needs `ip`. The key pays `cost`, the caller 1."};
constexpr operation get_key{.id = "getKey",
                            .group = "Keys",
                            .summary = "Get the record of a key",
                            .answers = resource,
                            .shows = "Key"};
constexpr operation patch_key{.id = "updateKey",
                              .group = "Keys",
                              .summary = "Change the settings of a key",
                              .answers = done,
                              .shows = "Key",
                              .takes = "KeyPatch",
                              .problems = {last_admin_key},
                              .details = "A JSON merge patch (RFC 7396)."};
constexpr operation delete_key{.id = "deleteKey",
                               .group = "Keys",
                               .summary = "Turn a key off",
                               .answers = deleted,
                               .problems = {last_admin_key},
                               .details = "The record stays."};
constexpr operation rotate_key{
    .id = "rotateKey",
    .group = "Keys",
    .summary = "Replace a key by a new one with the same settings",
    .answers = created,
    .shows = "CreatedKey",
    .takes = "Rotation?",
    .problems = {rotation_in_progress, key_not_active},
    .details = "The answer shows the new key, once. Both work until the overlap has passed."};
constexpr operation deactivate_key{.id = "deactivateKey",
                                   .group = "Keys",
                                   .summary = "Turn a key off and say why",
                                   .answers = done,
                                   .shows = "Key",
                                   .takes = "Deactivation?",
                                   .problems = {last_admin_key}};
constexpr operation reactivate_key{
    .id = "reactivateKey",
    .group = "Keys",
    .summary = "Turn a key on again",
    .answers = done,
    .shows = "Key",
    .takes = "Nothing?",
    .problems = {key_not_reactivatable},
    .details = "Not one that was deactivated as `compromised` or `rotated`."};

constexpr operation get_usage{
    .id = "getUsage",
    .group = "Keys",
    .summary = "How a key was used",
    .answers = report,
    .shows = "Usage",
    .query = {"from", "to", "granularity"},
    .details =
        "A point for every minute, hour or day from the one that `from` is in to the last that "
        "begins before `to`, at most 1440; what is not kept any longer (24 hours of minutes, 31 "
        "days of hours, 400 days) is left out. Answers are counted within 5 seconds."};

// ---- events

constexpr operation list_events{.id = "listEvents",
                                .group = "Events",
                                .summary = "List events from outside",
                                .answers = list,
                                .shows = "EventList",
                                .query = {"source"}};
constexpr operation get_event{.id = "getEvent",
                              .group = "Events",
                              .summary = "Get an event",
                              .answers = report,
                              .shows = "Event",
                              .problems = {not_found}};
constexpr operation receive_event{
    .id = "receiveEvent",
    .group = "Events",
    .summary = "Take what an external service sends",
    .answers = accepted,
    .shows = "EventReceipt",
    .takes = "EventPayload",
    .problems = {not_found, signature_invalid},
    .details =
        "Where the source has a secret, the request must be signed with it. A delivery that came "
        "within 24 hours before is answered as it was then and kept once. The scope "
        "`events:write:SOURCE` is enough for that source, and a key that has nothing else may "
        "always come by query."};
constexpr operation get_event_secret{.id = "getEventSecret",
                                     .group = "Events",
                                     .summary = "Get how a source signs",
                                     .answers = report,
                                     .shows = "EventSecret",
                                     .problems = {not_found}};
constexpr operation put_event_secret{
    .id = "putEventSecret",
    .group = "Events",
    .summary = "Set or replace the secret of a source",
    .answers = created,
    .shows = "SetEventSecret",
    .takes = "NewEventSecret?",
    .problems = {not_found},
    .details = "From then on the events of the source must be signed."};
constexpr operation delete_event_secret{.id = "deleteEventSecret",
                                        .group = "Events",
                                        .summary = "Remove the secret of a source",
                                        .answers = deleted,
                                        .problems = {not_found},
                                        .details = "From then on its events need no signature."};

// ---- the rest

constexpr operation list_audit{
    .id = "listAudit",
    .group = "Audit",
    .summary = "List who changed which key or secret, and from where",
    .answers = list,
    .shows = "AuditList",
    .query = {"project"},
    .details = "A caller without the scope `*` sees the entries of its own project."};
constexpr operation authorize{
    .id = "authorize",
    .group = "Gateway",
    .summary = "Judge a request for a gateway",
    .answers = gateway,
    .query = {"scope", "limit_status"},
    .details =
        "For nginx `auth_request`, `forward_auth` of Caddy and Traefik, Envoy `ext_authz`. "
        "Any method, with the client's header fields passed on; the body, `Accept`, "
        "`Content-Type`, `Expect` and preconditions are ignored."};
constexpr operation get_health{.id = "getHealth",
                               .group = "Service",
                               .summary = "Does the service answer?",
                               .answers = health,
                               .shows = "Health"};
constexpr operation get_openapi{.id = "getOpenApi",
                                .group = "Service",
                                .summary = "This description, as JSON",
                                .answers = document,
                                .shows = "OpenApi"};
constexpr operation get_docs{.id = "getDocs",
                             .group = "Service",
                             .summary = "This description, as a page for people",
                             .answers = document};
constexpr operation get_problem{.id = "getProblem",
                                .group = "Service",
                                .summary = "What a code means and what to do, as a page for people",
                                .answers = document};

}  // namespace latchkey::api::operations
