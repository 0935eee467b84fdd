// The handlers of the route table: a read answers from the snapshot; a write plans a command and
// later renders its outcome. Each resource has a file of its own.
#pragma once

#include <optional>
#include <string_view>

#include "api/frame/request_context.hpp"

namespace latchkey::api {

class event_stream;
struct event_reader;
struct public_request;

// ---- users (users.cpp)
std::optional<api_error> list_users(request_context const&, store::snapshot const&,
                                    http::response&);
std::optional<api_error> get_user(request_context const&, store::snapshot const&, http::response&);
std::optional<model::scope> scope_of_include(std::string_view raw_query);
std::optional<model::scope> scope_of_posts(std::string_view raw_query);
std::optional<api_error> list_posts_of_user(request_context const&, store::snapshot const&,
                                            http::response&);
api_result<store::command> plan_create_user(request_context const&);
api_result<store::command> plan_replace_user(request_context const&);
api_result<store::command> plan_patch_user(request_context const&);
api_result<store::command> plan_delete_user(request_context const&);
void answer_user(settings const&, store::outcome const&, http::response&);
void answer_user_created(settings const&, store::outcome const&, http::response&);

// ---- posts (posts.cpp)
std::optional<api_error> list_posts(request_context const&, store::snapshot const&,
                                    http::response&);
std::optional<api_error> get_post(request_context const&, store::snapshot const&, http::response&);
api_result<store::command> plan_create_post(request_context const&);
api_result<store::command> plan_replace_post(request_context const&);
api_result<store::command> plan_patch_post(request_context const&);
api_result<store::command> plan_delete_post(request_context const&);
void answer_post(settings const&, store::outcome const&, http::response&);
void answer_post_created(settings const&, store::outcome const&, http::response&);

// ---- keys (keys.cpp, key_actions.cpp, verify.cpp, introspect.cpp, usage.cpp,
// audit.cpp)
// Whether the caller may see keys of that project.
bool sees_project(request_context const&, std::string_view project);
std::optional<api_error> list_keys(request_context const&, store::snapshot const&, http::response&);
std::optional<api_error> get_key(request_context const&, store::snapshot const&, http::response&);
std::optional<api_error> get_current_key(request_context const&, store::snapshot const&,
                                         http::response&);
api_result<store::command> plan_create_key(request_context const&);
api_result<store::command> plan_patch_key(request_context const&);
api_result<store::command> plan_delete_key(request_context const&);
api_result<store::command> plan_rotate_key(request_context const&);
api_result<store::command> plan_deactivate_key(request_context const&);
api_result<store::command> plan_deactivate_current_key(request_context const&);
api_result<store::command> plan_reactivate_key(request_context const&);
void answer_key(settings const&, store::outcome const&, http::response&);
void answer_key_deactivated(settings const&, store::outcome const&, http::response&);
void answer_key_made(settings const&, store::outcome const&, std::string_view key, http::response&);
std::optional<api_error> verify_key(request_context const&, request_services&, http::response&);
std::optional<api_error> introspect_token(request_context const&, request_services&,
                                          http::response&);
std::optional<api_error> get_usage(request_context const&, store::snapshot const&, http::response&);
std::optional<api_error> list_usage(request_context const&, store::snapshot const&,
                                    http::response&);
std::optional<api_error> list_audit(request_context const&, store::snapshot const&,
                                    http::response&);

// ---- changes (changes.cpp, change_stream.cpp)
std::optional<api_error> list_changes(request_context const&, store::snapshot const&,
                                      http::response&);
api_result<std::unique_ptr<event_stream>> open_change_stream(request_context const&,
                                                             request_services&, event_reader);

// ---- events (events.cpp)
std::optional<api_error> list_events(request_context const&, store::snapshot const&,
                                     http::response&);
std::optional<api_error> get_event(request_context const&, store::snapshot const&, http::response&);
api_result<store::command> plan_receive_event(request_context const&);
void answer_event_received(settings const&, store::outcome const&, http::response&);
// Secrets of event sources (event_secrets.cpp).
std::optional<api_error> list_event_sources(request_context const&, store::snapshot const&,
                                            http::response&);
std::optional<api_error> get_event_secret(request_context const&, store::snapshot const&,
                                          http::response&);
api_result<store::command> plan_put_event_secret(request_context const&);
api_result<store::command> plan_delete_event_secret(request_context const&);
void answer_event_secret(settings const&, store::outcome const&, http::response&);

// ---- webhooks (webhooks.cpp, webhook_deliveries.cpp)
bool sees_webhook(request_context const&, model::webhook const& webhook);
std::optional<api_error> list_webhooks(request_context const&, store::snapshot const&,
                                       http::response&);
std::optional<api_error> get_webhook(request_context const&, store::snapshot const&,
                                     http::response&);
std::optional<api_error> list_deliveries(request_context const&, store::snapshot const&,
                                         http::response&);
// The webhook-id of a change; empty: it is not kept any more.
std::string message_id_of(store::snapshot const& snapshot, model::id sequence);
api_result<store::command> plan_create_webhook(request_context const&);
api_result<store::command> plan_patch_webhook(request_context const&);
api_result<store::command> plan_delete_webhook(request_context const&);
api_result<store::command> plan_rotate_webhook_secret(request_context const&);
api_result<store::command> plan_enable_webhook(request_context const&);
api_result<store::command> plan_test_webhook(request_context const&);
api_result<store::command> plan_replay_webhook(request_context const&);
void answer_webhook(settings const&, store::outcome const&, http::response&);
void answer_webhook_created(settings const&, store::outcome const&, http::response&);
void answer_webhook_rotated(settings const&, store::outcome const&, http::response&);
void answer_webhook_tested(settings const&, store::outcome const&, http::response&);
void answer_webhook_replayed(settings const&, store::outcome const&, http::response&);

// ---- sessions of browsers (sessions.cpp), the process (service_status.cpp)
std::optional<api_error> start_session(request_context const&, request_services&, http::response&);
std::optional<api_error> end_session(request_context const&, request_services&, http::response&);
api_result<store::command> plan_end_sessions(request_context const&);
std::optional<api_error> get_service(request_context const&, request_services&, http::response&);

// ---- /auth (gateway.cpp)
std::optional<api_error> answer_gateway(request_context const&, http::response&);
bool masks_limits(std::string_view raw_query);  // ?limit_status=403

// ---- shared (resource.cpp)
void answer_deleted(settings const&, store::outcome const&, http::response&);

// ---- without a key (docs/pages.cpp, exchange/static_files.cpp)
std::optional<api_error> show_health(public_request const&, http::response&);
std::optional<api_error> show_openapi(public_request const&, http::response&);
std::optional<api_error> show_page(public_request const&, http::response&);
std::optional<api_error> show_root(public_request const&, http::response&);
std::optional<api_error> show_icon(public_request const&, http::response&);
inline constexpr std::string_view protected_resource_path = "/.well-known/oauth-protected-resource";
std::optional<api_error> show_protected_resource(public_request const&, http::response&);
std::optional<api_error> show_asset(public_request const&, http::response&);
std::optional<api_error> show_console(public_request const&, http::response&);

}  // namespace latchkey::api
