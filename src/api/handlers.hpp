// What the route table points at: a read answers from the snapshot, a write plans a command and
// later renders its outcome. Each resource has a file of its own (users.cpp, posts.cpp, pages.cpp).
#pragma once

#include "api/route.hpp"

namespace latchkey::api {

std::optional<trouble> list_users(call const&, store::snapshot const&, http::response&);
std::optional<trouble> get_user(call const&, store::snapshot const&, http::response&);
std::optional<model::scope> scope_of_include(std::string_view raw_query);
std::optional<model::scope> scope_of_posts(std::string_view raw_query);
std::optional<trouble> list_posts_of_user(call const&, store::snapshot const&, http::response&);
or_trouble<store::command> plan_create_user(call const&);
or_trouble<store::command> plan_replace_user(call const&);
or_trouble<store::command> plan_patch_user(call const&);
or_trouble<store::command> plan_delete_user(call const&);
void answer_user(settings const&, store::outcome const&, http::response&);
void answer_user_created(settings const&, store::outcome const&, http::response&);

std::optional<trouble> list_posts(call const&, store::snapshot const&, http::response&);
std::optional<trouble> get_post(call const&, store::snapshot const&, http::response&);
or_trouble<store::command> plan_create_post(call const&);
or_trouble<store::command> plan_replace_post(call const&);
or_trouble<store::command> plan_patch_post(call const&);
or_trouble<store::command> plan_delete_post(call const&);
void answer_post(settings const&, store::outcome const&, http::response&);
void answer_post_created(settings const&, store::outcome const&, http::response&);

// ---- keys
// Does the caller see what belongs to that project? (keys.cpp)
bool sees_project(call const&, std::string_view project);
std::optional<trouble> list_keys(call const&, store::snapshot const&, http::response&);
std::optional<trouble> get_key(call const&, store::snapshot const&, http::response&);
std::optional<trouble> get_current_key(call const&, store::snapshot const&, http::response&);
or_trouble<store::command> plan_create_key(call const&);
or_trouble<store::command> plan_patch_key(call const&);
or_trouble<store::command> plan_delete_key(call const&);
or_trouble<store::command> plan_rotate_key(call const&);
or_trouble<store::command> plan_deactivate_key(call const&);
or_trouble<store::command> plan_deactivate_current_key(call const&);
or_trouble<store::command> plan_reactivate_key(call const&);
void answer_key(settings const&, store::outcome const&, http::response&);
void answer_key_made(settings const&, store::outcome const&, std::string_view key, http::response&);
std::optional<trouble> verify_key(call const&, desk&, http::response&);
std::optional<trouble> get_usage(call const&, store::snapshot const&, http::response&);
std::optional<trouble> list_audit(call const&, store::snapshot const&, http::response&);

// ---- events (events.cpp)
std::optional<trouble> list_events(call const&, store::snapshot const&, http::response&);
std::optional<trouble> get_event(call const&, store::snapshot const&, http::response&);
or_trouble<store::command> plan_receive_event(call const&);
void answer_event_received(settings const&, store::outcome const&, http::response&);
// The secrets of their sources. (event_secrets.cpp)
std::optional<trouble> get_event_secret(call const&, store::snapshot const&, http::response&);
or_trouble<store::command> plan_put_event_secret(call const&);
or_trouble<store::command> plan_delete_event_secret(call const&);
void answer_event_secret(settings const&, store::outcome const&, http::response&);

// /auth. (gateway.cpp)
std::optional<trouble> answer_gateway(call const&, http::response&);
bool masks_limits(std::string_view raw_query);  // ?limit_status=403

void answer_deleted(settings const&, store::outcome const&, http::response&);

std::optional<trouble> show_health(std::string_view, settings const&, http::response&);
std::optional<trouble> show_problem(std::string_view code, settings const&, http::response&);
std::optional<trouble> show_openapi(std::string_view, settings const&, http::response&);
std::optional<trouble> show_docs(std::string_view, settings const&, http::response&);

}  // namespace latchkey::api
